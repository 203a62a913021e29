// SPDX-License-Identifier: Apache-2.0
// What all layers have: refusals where they do not fit their tensors or parameters, users'
// libraries, and the costs that they state before they are made (layers/cost.h).
#include "base/json.h"
#include "check_suite.h"
#include "layer_run.h"
#include "layers/cost.h"
#include "layers/custom_library.h"
#include "layers/workspace.h"
#include "named_layer.h"

namespace dvnn::test::layer_tests {

DVNN_SUITE(layers);

using json = dvnn::Json;
using namespace dvnn::layers;

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

namespace {

struct Sized {
  const char* type;
  json params;
  std::vector<Shape> inputs;
  Shape output;
};

// Layers of tensors that are much larger than the cache lines on which borrowed pieces begin.
std::vector<Sized> sized_layers() {
  const Shape picture = {1, 24, 20, 30};
  return {
      {"ArgReduce", {{"operation", "max"}, {"axis", 1}}, {picture}, {1, 1, 20, 30}},
      {"Border", {{"before", {0, 0, 2, 2}}, {"after", {0, 0, 1, 1}}}, {picture}, {1, 24, 23, 33}},
      {"Attention",
       {{"sequences", 2},
        {"heads", 3},
        {"size", 8},
        {"value_size", 8},
        {"first", {0, 0, 0}},
        {"step", {8, 8, 8}}},
       {{1, 24, 1, 600}, {1, 24, 1, 400}, {1, 24, 1, 400}, {1, 3, 300, 200}},
       {1, 24, 1, 600}},
      {"PixelGather", {{"pixels", 600}, {"places", {5, 4, 599}}}, {{1, 24, 1, 600}}, {1, 24, 1, 3}},
      {"Concat", {{"axis", 2}}, {picture, picture}, {1, 24, 40, 30}},
      {"Convolution",
       {{"kernel_w", 1},
        {"kernel_h", 1},
        {"weights", std::vector<float>(72, 1)},
        {"bias", {0, 0, 0}}},
       {picture},
       {1, 3, 20, 30}},
      {"CumSum", {{"axis", 1}}, {picture}, picture},
      {"Elementwise", operation_of("add"), {picture, picture}, picture},
      {"Elementwise", operation_of("add"), {picture, {1, 24, 1, 1}}, picture},
      {"Elementwise", operation_of("pow"), {{1, 24, 20, 1}, {1, 24, 1, 30}}, picture},
      {"Gather", {{"axis", 1}}, {picture, {48}}, {1, 48, 20, 30}},
      {"LRN", json::object(), {picture}, picture},
      {"MatMul", json::object(), {{1, 24, 40, 30}, {1, 24, 30, 5}}, {1, 24, 40, 5}},
      {"Normalize", {{"across_spatial", false}, {"scale", {1}}}, {picture}, picture},
      {"Pad", {{"left", 2}, {"top", 1}}, {picture}, {1, 24, 21, 32}},
      {"Permute", {{"order", {0, 1, 3, 2}}}, {picture}, {1, 24, 30, 20}},
      {"Pooling",
       {{"method", "max"}, {"kernel_w", 3}, {"kernel_h", 3}},
       {picture},
       {1, 24, 18, 28}},
      {"Reduce", {{"operation", "sum"}, {"axes", {1}}}, {picture}, {1, 1, 20, 30}},
      // Larger on the way from axis to axis than before and after.
      {"Resize",
       {{"mode", "linear"}, {"scales", {1, 1, 10, 0.1}}},
       {{1, 8, 20, 300}},
       {1, 8, 200, 30}},
      {"Slice", {{"begin", {0, 0, 1, 1}}, {"step", {1, 1, 1, 1}}}, {picture}, {1, 24, 19, 29}},
      {"Softmax", json::object(), {picture}, picture},
      {"Standardize", {{"axes", {1}}}, {picture}, picture},
      {"Tile", {{"repeats", {1, 1, 2, 1}}}, {picture}, {1, 24, 40, 30}},
      {"TopK", {{"axis", 1}, {"k", 5}}, {picture}, {1, 5, 20, 30}},
      {"Where", json::object(), {picture, picture, {1, 24, 1, 1}}, picture},
      {"WindowPool",
       {{"operation", "max"},
        {"kernel", {2, 2}},
        {"stride", {1, 1}},
        {"dilation", {1, 1}},
        {"before", {0, 0}},
        {"after", {0, 0}}},
       {picture},
       {1, 24, 19, 29}},
  };
}

TensorDesc in_form(const Shape& shape, bool chunks) {
  return chunks && shape.rank == 4 ? TensorDesc{ElementType::kFloat16, Layout::kWhc8, shape}
                                   : TensorDesc{ElementType::kFloat32, Layout::kNchw, shape};
}

// The bytes that a run of the layer borrows of its workspace.
size_t borrowed_by(const LayerAttributes& attributes, const std::vector<TensorDesc>& descs,
                   const TensorDesc& out) {
  std::vector<std::vector<uint8_t>> memory;
  std::vector<ConstTensorView> views;
  for (const TensorDesc& desc : descs) memory.emplace_back(static_cast<size_t>(desc.bytes()));
  for (size_t i = 0; i < descs.size(); ++i) views.push_back({descs[i], memory[i].data()});
  std::vector<uint8_t> result(static_cast<size_t>(out.bytes()));
  const TensorView view = {out, result.data()};
  auto layer = create_cpu_layer(attributes, descs, {&out, 1});
  ck_assert_msg(layer.ok(), "%s", layer.ok() ? "" : layer.error().message.c_str());
  Workspace workspace;
  const Workspace::Loan loan(&workspace);
  ck_assert(layer.value()->run(views, {&view, 1}).ok());
  return workspace.bytes_held();
}

}  // namespace

DVNN_TEST(no_layer_borrows_more_than_its_cost_says) {
  constexpr size_t kPieces = 8, kLine = 64;  // pieces begin on cache lines
  for (const Sized& sized : sized_layers()) {
    const LayerAttributes attributes = parse_layer(sized.type, sized.params).value();
    for (const bool from_chunks : {false, true}) {
      for (const bool to_chunks : {false, true}) {
        std::vector<TensorDesc> inputs;
        for (const Shape& shape : sized.inputs) inputs.push_back(in_form(shape, from_chunks));
        const TensorDesc output = in_form(sized.output, to_chunks);
        const Cost cost = cost_of(attributes, inputs, {&output, 1});
        const size_t borrowed = borrowed_by(attributes, inputs, output);
        ck_assert_msg(borrowed <= cost.shared_bytes + kPieces * kLine,
                      "%s from %s to %s borrows %zu bytes and says %llu", sized.type,
                      from_chunks ? "chunks" : "rows", to_chunks ? "chunks" : "rows", borrowed,
                      static_cast<unsigned long long>(cost.shared_bytes));
      }
    }
  }
}

}  // namespace dvnn::test::layer_tests
