// SPDX-License-Identifier: Apache-2.0
#include "grid_network.h"

#include <vector>

#include "../layers/named_layer.h"

namespace dvnn::test {

network::Model grid_network(const GridVariant& variant) {
  using namespace network;
  Model model;
  model.name = variant.name;
  model.producer = "test";
  model.input.picture.order = variant.blue ? ChannelOrder::kBgr : ChannelOrder::kRgb;
  const int cells = variant.cells, size = 4 * cells;
  model.input.picture.scale = {{1 / 255.0f, 1 / 255.0f, 1 / 255.0f}};
  auto tensor = [&](const char* name, ElementType type, Layout layout, Shape shape) {
    const TensorDesc desc = {type, layout, shape};
    model.tensors.push_back({name, desc, Storage::kIo, model.io_bytes});
    model.io_bytes += static_cast<uint64_t>((desc.bytes() + 63) / 64 * 64);
    return static_cast<int>(model.tensors.size()) - 1;
  };
  const int input = tensor("input", ElementType::kFloat16, Layout::kWhc8, {1, 3, size, size});
  const int conf = tensor("conf_map", ElementType::kFloat16, Layout::kWhc8, {1, 2, cells, cells});
  const int loc = tensor("loc_map", ElementType::kFloat16, Layout::kWhc8, {1, 4, cells, cells});
  const int conf_rows =
      tensor("conf_rows", ElementType::kFloat32, Layout::kNchw, {1, cells, cells, 2});
  const int loc_rows = tensor("loc", ElementType::kFloat32, Layout::kNchw, {1, cells, cells, 4});
  const int scores = tensor("conf", ElementType::kFloat32, Layout::kNchw, {1, cells, cells, 2});
  model.input.tensor = input;

  auto convolution = [&](const char* name, int output, int m, const std::vector<float>& weights,
                         const std::vector<float>& bias) {
    Step step;
    step.kind = StepKind::kDevice;
    step.name = name;
    step.layers = {name};
    step.inputs = {input};
    step.outputs = {output};
    device::ConvRun run;
    run.m = m;
    run.conv = device::ConvKind::kConv;
    run.kernel = run.stride = {4, 4};
    run.weight_format = device::WeightFormat::kHalf;
    run.weight_offset = model.weights.size();
    step.command.w = step.command.h = size;
    step.command.c = 3;
    step.command.runs = {run};
    std::vector<half_t> w(weights.size()), b(bias.size());
    float_to_half(weights.data(), w.data(), w.size());
    float_to_half(bias.data(), b.data(), b.size());
    const PackedGeometry geometry = device::run_geometry(run, 3);
    model.weights.resize(model.weights.size() + packed_weights_size(geometry));
    pack_weights(geometry, {nullptr, w.data(), b.data(), nullptr},
                 model.weights.data() + run.weight_offset);
    model.steps.push_back(step);
  };
  std::vector<float> red(2 * 3 * 16, 0.0f);
  const size_t seen = variant.upper_half ? 8 : 16;  // of the cell's 4 rows of 4 pixels
  for (size_t i = 0; i < seen; ++i) {
    red[3 * 16 + i] = 64.0f / static_cast<float>(seen);        // class 1, red
    red[3 * 16 + 16 + i] = -64.0f / static_cast<float>(seen);  // class 1, green
  }
  convolution("conf_map", conf, 2, red, {0, -32});
  convolution("loc_map", loc, 4, std::vector<float>(4 * 3 * 16, 0.0f), {0, 0, 0, 0});
  auto cpu = [&](const char* name, const char* type, const Json& params, int in, int out) {
    Step step;
    step.name = name;
    step.layers = {name};
    step.inputs = {in};
    step.outputs = {out};
    step.layer = layer_of(type, params);
    model.steps.push_back(step);
  };
  cpu("conf_rows", "Permute", {{"order", {0, 2, 3, 1}}}, conf, conf_rows);
  cpu("loc", "Permute", {{"order", {0, 2, 3, 1}}}, loc, loc_rows);
  cpu("conf", "Softmax", {{"axis", 3}}, conf_rows, scores);
  model.outputs = {{"loc", loc_rows}, {"conf", scores}};
  model.decoder.name = "ssd";
  model.decoder.params = {
      {"loc", "loc"},
      {"conf", "conf"},
      {"num_classes", 2},
      {"anchors",
       {{"rule", "min-boxes"}, {"image", {size, size}}, {"strides", {4}}, {"min_boxes", {{4}}}}}};
  model.labels = {"background", variant.label};
  return model;
}

}  // namespace dvnn::test
