// SPDX-License-Identifier: Apache-2.0
// Layers that do not fit their tensors or parameters, and layers of users' libraries.
#include "layer_run.h"
#include "layers/cost.h"
#include "layers/custom_library.h"
#include "layers/workspace.h"

namespace dvnn::test::layer_tests {

DVNN_SUITE(layers);

using namespace dvnn::layers;
using json = dvnn::Json;

DVNN_TEST(layers_that_do_not_fit_are_refused) {
  struct Refusal {
    const char* type;
    json params;
    std::vector<TensorDesc> inputs;
    TensorDesc output;
  };
  const TensorDesc four = plain({1, 1, 2, 2});
  const Refusal refusals[] = {
      {"Teleport", {}, {four}, four},
      {"Concat", {{"axis", 9}}, {four}, four},
      {"Concat", {{"axis", 1}}, {four, four}, four},
      {"Permute", {{"order", {0, 1, 2, 2}}}, {four}, four},
      {"Permute", {{"order", {0, 1}}}, {four}, four},
      {"Softmax", {{"axis", -1}}, {four}, four},
      {"Softmax", json::object(), {}, four},
      {"Reshape", {}, {four}, plain({5})},
      {"Normalize", {{"scale", {1, 2, 3}}, {"channel_shared", false}}, {four}, four},
      {"Pooling", {{"method", "median"}}, {four}, four},
      {"Pooling", {{"method", "max"}, {"kernel_w", 0}}, {four}, four},
      {"Pooling", {{"method", "max"}}, {four}, plain({1, 1, 9, 9})},
      {"Elementwise", operation_of("add"), {four}, four},
      {"PriorBox", {{"min_sizes", {1}}}, {}, four},
      {"DetectionOutput", {{"num_classes", 2}}, {four, four, four}, plain({1, 1, 4, 7})},
      {"Elementwise",
       {{"inputs", 1}, {"constants", {{1, 2}}}, {"steps", {{{"function", "mul"}, {"of", {0, 1}}}}}},
       {four},
       four},
      {"Convolution", {{"weights", {1, 2}}, {"bias", {0}}}, {four}, four},
      {"Convolution", {{"weights", {1}}, {"bias", {0}}, {"groups", 2}}, {four}, four},
      {"Convolution", {{"weights", {1}}, {"bias", {0}}, {"kernel_w", 0}}, {four}, four},
  };
  for (const Refusal& r : refusals) {
    auto layer = test::create_layer(r.type, r.params, r.inputs, {&r.output, 1});
    ck_assert_msg(!layer.ok(), "%s %s was accepted", r.type, json_text(r.params).c_str());
    ck_assert(layer.error().message.find(r.type) != std::string::npos);
  }
}

DVNN_TEST(a_workspace_grows_once) {
  // The first run's pieces become one block for all later runs.
  Workspace workspace;
  const Workspace::Loan loan(&workspace);
  const float* places[3];
  for (const float*& place : places) {
    const Workspace::Run run;
    place = Workspace::current().floats(100);
    const float* const second = Workspace::current().floats(200);
    ck_assert(second >= place + 100 || second + 200 <= place);
  }
  ck_assert_ptr_eq(places[2], places[1]);
}

DVNN_TEST(costs_count_what_is_multiplied) {
  auto work = [](const char* type, const json& params, const std::vector<TensorDesc>& inputs,
                 const TensorDesc& output) {
    auto parsed = parse_layer(type, params);
    ck_assert_msg(parsed.ok(), "%s", parsed.ok() ? "" : parsed.error().message.c_str());
    return cost_of(parsed.value(), inputs, {&output, 1}).work;
  };
  // Each bound is the number of products, or of elements in all windows. No layer costs more than
  // twice that, plus one look at each tensor.
  const uint64_t products = 30 * 40 * 50;
  const uint64_t matmul =
      work("MatMul", json::object(), {plain({30, 40}), plain({40, 50})}, plain({30, 50}));
  ck_assert_uint_ge(matmul, products);
  ck_assert_uint_le(matmul, 2 * products + 30 * 40 + 40 * 50 + 30 * 50);
  const uint64_t windows = 7 * 7 * 3 * 20 * 20;
  const uint64_t pooling = work(
      "Pooling", {{"method", "max"}, {"kernel_w", 7}, {"kernel_h", 7}, {"pad_w", 3}, {"pad_h", 3}},
      {plain({1, 3, 20, 20})}, plain({1, 3, 20, 20}));
  ck_assert_uint_ge(pooling, windows);
  ck_assert_uint_le(pooling, 2 * windows);
}

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

}  // namespace dvnn::test::layer_tests
