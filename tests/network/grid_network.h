// SPDX-License-Identifier: Apache-2.0
// A network small enough to understand: it finds red squares on a 4 x 4 grid.
//
// Input 1x3x16x16 (rgb, /255). A 4x4 convolution with stride 4 gives each cell's confidence of
// "red" (64 * (mean red - mean green - 0.5)); another gives box deltas, all zero. Permute and
// Softmax run on the CPU; the ssd decoder has one anchor per cell, as large as the cell.
#pragma once

#include <vector>

#include "network/model.h"

namespace dvnn::test {

inline network::Model grid_network() {
  using namespace network;
  Model model;
  model.name = "grid";
  model.producer = "test";
  model.input.picture.order = ChannelOrder::kRgb;
  model.input.picture.scale = {{1 / 255.0f, 1 / 255.0f, 1 / 255.0f}};
  auto tensor = [&](const char* name, ElementType type, Layout layout, Shape shape) {
    const TensorDesc desc = {type, layout, shape};
    model.tensors.push_back({name, desc, Storage::kIo, model.io_bytes});
    model.io_bytes += static_cast<uint64_t>((desc.bytes() + 63) / 64 * 64);
    return static_cast<int>(model.tensors.size()) - 1;
  };
  const int input = tensor("input", ElementType::kFloat16, Layout::kWhc8, {1, 3, 16, 16});
  const int conf = tensor("conf_map", ElementType::kFloat16, Layout::kWhc8, {1, 2, 4, 4});
  const int loc = tensor("loc_map", ElementType::kFloat16, Layout::kWhc8, {1, 4, 4, 4});
  const int conf_rows = tensor("conf_rows", ElementType::kFloat32, Layout::kNchw, {1, 4, 4, 2});
  const int loc_rows = tensor("loc", ElementType::kFloat32, Layout::kNchw, {1, 4, 4, 4});
  const int scores = tensor("conf", ElementType::kFloat32, Layout::kNchw, {1, 4, 4, 2});
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
    step.command.w = step.command.h = 16;
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
  for (size_t i = 0; i < 16; ++i) {
    red[3 * 16 + i] = 4;        // class 1, red
    red[3 * 16 + 16 + i] = -4;  // class 1, green
  }
  convolution("conf_map", conf, 2, red, {0, -32});
  convolution("loc_map", loc, 4, std::vector<float>(4 * 3 * 16, 0.0f), {0, 0, 0, 0});
  auto cpu = [&](const char* name, const char* type, nlohmann::json params, int in, int out) {
    Step step;
    step.name = name;
    step.layers = {name};
    step.inputs = {in};
    step.outputs = {out};
    step.type = type;
    step.params = std::move(params);
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
       {{"rule", "min-boxes"}, {"image", {16, 16}}, {"strides", {4}}, {"min_boxes", {{4}}}}}};
  model.labels = {"background", "red"};
  return model;
}

}  // namespace dvnn::test
