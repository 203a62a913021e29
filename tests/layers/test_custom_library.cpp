// SPDX-License-Identifier: Apache-2.0
// Layers of users' libraries.
#include "layer_run.h"
#include "layers/custom_library.h"

namespace dvnn::test::custom_library_tests {

DVNN_SUITE(layers);

using namespace dvnn::layers;
using json = dvnn::Json;

DVNN_TEST(a_library_brings_layers_to_those_who_name_it) {
  const TensorDesc in = plain({1, 2, 1, 3}), out = plain({1, 4, 1, 3});
  const json params = {{"amount", 0.5}, {"sizes", {2, 4}}};
  const auto before = test::create_layer("Spread", params, {&in, 1}, {&out, 1});
  ck_assert(!before.ok() && before.error().message.find("custom-layers") != std::string::npos);
  ck_assert(!CustomLibrary::open("/nowhere/libmine.so").ok());
  const auto opened = CustomLibrary::open(SPREAD_MODULE);
  ck_assert(opened.ok());
  const CustomLibrary* library = opened.value().get();
  ck_assert(!test::create_layer("Spread", params, {&in, 1}, {&out, 1}).ok());
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  const auto spread = run("Spread", params, {{in, values}}, {1, 4, 1, 3}, library);
  ck_assert(spread == std::vector<float>({1, 2, 3, 4, 5, 6, 2, 4, 6, 8, 10, 12}));

  auto message = [](const auto& result) { return result.error().message; };
  const auto unset = test::create_layer("Spread", json::object(), {&in, 1}, {&out, 1}, library);
  ck_assert(!unset.ok() && message(unset).find("amount and sizes") != std::string::npos);
  const auto broken = test::create_layer("Broken", params, {&in, 1}, {&out, 1}, library);
  ck_assert(!broken.ok() && message(broken).find("no reason") != std::string::npos);
  auto failing = test::create_layer("Failing", params, {&in, 1}, {&out, 1}, library);
  ck_assert(failing.ok());
  std::vector<float> result(12);
  const ConstTensorView from = {in, reinterpret_cast<const uint8_t*>(values.data())};
  const TensorView to = {out, reinterpret_cast<uint8_t*>(result.data())};
  const Status status = failing.value()->run({&from, 1}, {&to, 1});
  ck_assert(!status.ok() && message(status) == "Failing: no?luck");  // one line
}

}  // namespace dvnn::test::custom_library_tests
