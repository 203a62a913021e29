// SPDX-License-Identifier: Apache-2.0
// The costs that layers state before they are made (layers/cost.h).
#include "layers/cost.h"

#include "base/json.h"
#include "check_suite.h"
#include "layers/workspace.h"
#include "named_layer.h"

namespace dvnn::test::cost_tests {

DVNN_SUITE(layers);

using namespace dvnn::layers;
using json = dvnn::Json;

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

}  // namespace dvnn::test::cost_tests
