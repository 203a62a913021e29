// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "check_main.h"
#include "layers/custom_library.h"
#include "named_layer.h"

using namespace dvnn;
using namespace dvnn::layers;
using nlohmann::json;

namespace {

TensorDesc plain(Shape shape) {
  return {ElementType::kFloat32, Layout::kNchw, shape};
}

struct Tensor {
  TensorDesc desc;
  std::vector<float> values;
};

// Runs a layer on row-major floats, and again with every tensor in the device's form, which must
// give the same up to binary16.
std::vector<float> run(const char* type, const json& params, const std::vector<Tensor>& inputs,
                       Shape output, const CustomLibrary* library = nullptr) {
  std::vector<float> results[2];
  for (int form = 0; form < 2; ++form) {
    auto describe = [&](const TensorDesc& desc) {
      return form == 1 && desc.shape.rank == 4
                 ? TensorDesc{ElementType::kFloat16, Layout::kWhc8, desc.shape}
                 : desc;
    };
    std::vector<TensorDesc> descs;
    std::vector<std::vector<uint8_t>> memory;
    std::vector<ConstTensorView> views;
    for (const Tensor& t : inputs) {
      descs.push_back(describe(t.desc));
      memory.emplace_back(static_cast<size_t>(descs.back().bytes()));
      write_nchw(t.values.data(), {descs.back(), memory.back().data()});
    }
    for (size_t i = 0; i < inputs.size(); ++i) views.push_back({descs[i], memory[i].data()});
    const TensorDesc out = describe(plain(output));
    std::vector<uint8_t> bytes(static_cast<size_t>(out.bytes()));
    auto layer = test::create_layer(type, params, descs, {&out, 1}, library);
    ck_assert_msg(layer.ok(), "%s", layer.ok() ? "" : layer.error().message.c_str());
    const TensorView view = {out, bytes.data()};
    ck_assert(layer.value()->run(views, {&view, 1}).ok());
    results[form].resize(static_cast<size_t>(output.elements()));
    read_nchw({out, bytes.data()}, results[form].data());
  }
  for (size_t i = 0; i < results[0].size(); ++i) {
    // Inputs and output rounded to 11 bits; values here are below 100.
    ck_assert_float_eq_tol(results[0][i], results[1][i], 0.1f);
  }
  return results[0];
}

std::vector<float> counting(size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i);
  return values;
}

void expect(const std::vector<float>& have, std::initializer_list<float> want) {
  ck_assert_uint_eq(have.size(), want.size());
  size_t i = 0;
  for (float w : want) ck_assert_float_eq_tol(have[i++], w, 1e-5f);
}

}  // namespace

START_TEST(concat_joins_along_any_axis) {
  const Tensor a = {plain({1, 2, 1, 2}), {1, 2, 3, 4}}, b = {plain({1, 1, 1, 2}), {5, 6}};
  expect(run("Concat", {{"axis", 1}}, {a, b}, {1, 3, 1, 2}), {1, 2, 3, 4, 5, 6});
  const Tensor c = {plain({1, 2, 2}), {1, 2, 3, 4}}, d = {plain({1, 2, 1}), {5, 6}};
  expect(run("Concat", {{"axis", 2}}, {c, d}, {1, 2, 3}), {1, 2, 5, 3, 4, 6});
}
END_TEST

START_TEST(permute_reorders_axes) {
  const Tensor t = {plain({1, 2, 1, 3}), {1, 2, 3, 4, 5, 6}};
  expect(run("Permute", {{"order", {0, 2, 3, 1}}}, {t}, {1, 1, 3, 2}), {1, 4, 2, 5, 3, 6});
}
END_TEST

START_TEST(softmax_sums_to_one_and_cannot_overflow) {
  const Tensor t = {plain({1, 2, 2}), {1000, 1000, -5, -4}};
  const auto out = run("Softmax", {{"axis", 2}}, {t}, {1, 2, 2});
  ck_assert_float_eq_tol(out[0], 0.5f, 1e-6f);
  ck_assert_float_eq_tol(out[3], 1 / (1 + std::exp(-1.0f)), 1e-6f);
  const Tensor columns = {plain({1, 2, 1, 2}), {0, 1, 0, 3}};
  const auto by_channel = run("Softmax", {{"axis", 1}}, {columns}, {1, 2, 1, 2});
  ck_assert_float_eq_tol(by_channel[1] + by_channel[3], 1.0f, 1e-6f);
}
END_TEST

START_TEST(normalize_scales_to_unit_length) {
  const Tensor t = {plain({1, 2, 1, 2}), {3, 0, 4, 2}};
  expect(
      run("Normalize", {{"across_spatial", false}, {"channel_shared", false}, {"scale", {10, 20}}},
          {t}, {1, 2, 1, 2}),
      {6, 0, 16, 20});
}
END_TEST

START_TEST(pooling_clips_windows_as_caffe_does) {
  const Tensor t = {plain({1, 1, 3, 3}), counting(9)};
  const json window = {{"kernel_w", 2}, {"kernel_h", 2}, {"stride_w", 2}, {"stride_h", 2}};
  json max = window, average = window;
  max["method"] = "max";
  average["method"] = "average";
  expect(run("Pooling", max, {t}, {1, 1, 2, 2}), {4, 5, 7, 8});
  expect(run("Pooling", average, {t}, {1, 1, 2, 2}), {2, 3.5f, 6.5f, 8});
}
END_TEST

START_TEST(element_wise_layers_compute) {
  const Tensor a = {plain({1, 1, 1, 3}), {1, -2, 3}}, b = {plain({1, 1, 1, 3}), {4, 5, -6}};
  expect(run("Eltwise", {{"operation", "max"}}, {a, b}, {1, 1, 1, 3}), {4, 5, 3});
  expect(run("Eltwise", {{"operation", "prod"}}, {a, b}, {1, 1, 1, 3}), {4, -10, -18});
  expect(run("Eltwise", {{"coeff", {2, -1}}}, {a, b}, {1, 1, 1, 3}), {-2, -9, 12});
  expect(run("ReLU", {{"slope", 0.5}}, {a}, {1, 1, 1, 3}), {1, -1, 3});
  expect(run("ELU", json::object(), {a}, {1, 1, 1, 3}), {1, std::exp(-2.0f) - 1, 3});
  const Tensor two = {plain({1, 2, 1, 2}), {1, -1, 2, -2}};
  expect(run("PReLU", {{"slope", {0.5, 0.25}}}, {two}, {1, 2, 1, 2}), {1, -0.5f, 2, -0.5f});
  expect(run("Scale", {{"scale", {2, 3}}, {"bias", {1, 0}}}, {two}, {1, 2, 1, 2}), {3, -1, 6, -6});
}
END_TEST

START_TEST(a_library_brings_layers_to_those_who_name_it) {
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
END_TEST

START_TEST(layers_that_do_not_fit_are_refused) {
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
      {"Eltwise", {{"operation", "xor"}}, {four, four}, four},
      {"Eltwise", {{"coeff", {1}}}, {four, four}, four},
      {"PriorBox", {{"min_sizes", {1}}}, {}, four},
      {"DetectionOutput", {{"num_classes", 2}}, {four, four, four}, plain({1, 1, 4, 7})},
      {"Scale", {{"scale", {1, 2}}}, {four}, four},
      {"Convolution", {{"weights", {1, 2}}, {"bias", {0}}}, {four}, four},
      {"Convolution", {{"weights", {1}}, {"bias", {0}}, {"groups", 2}}, {four}, four},
      {"Convolution", {{"weights", {1}}, {"bias", {0}}, {"kernel_w", 0}}, {four}, four},
  };
  for (const Refusal& r : refusals) {
    auto layer = test::create_layer(r.type, r.params, r.inputs, {&r.output, 1});
    ck_assert_msg(!layer.ok(), "%s %s was accepted", r.type, r.params.dump().c_str());
    ck_assert(layer.error().message.find(r.type) != std::string::npos);
  }
}
END_TEST

DVNN_TEST_MAIN(layers, concat_joins_along_any_axis, permute_reorders_axes,
               softmax_sums_to_one_and_cannot_overflow, normalize_scales_to_unit_length,
               pooling_clips_windows_as_caffe_does, element_wise_layers_compute,
               a_library_brings_layers_to_those_who_name_it, layers_that_do_not_fit_are_refused)
