// SPDX-License-Identifier: Apache-2.0
// A network with a memory, whose values are exact: sum = factor * the sum before + the frame.
#pragma once

#include "layers/attributes.h"
#include "network/model.h"
#include "tensor/half.h"

namespace dvnn::test {

/// Input of one or three channels (gray or rgb, numbers as they are); output "sum", which depends
/// on the order of frames.
inline network::Model leaky_network(float factor = 0.5f, const Shape& shape = {1, 3, 8, 8}) {
  using layers::ElementwiseAttributes;
  network::Model model;
  model.name = "leaky";
  const TensorDesc frame = {ElementType::kFloat16, Layout::kNwhc, shape};
  const TensorDesc sum = {ElementType::kFloat32, Layout::kNchw, shape};
  constexpr size_t kAligned = 64;
  const auto aligned = [](size_t bytes) { return (bytes + kAligned - 1) / kAligned * kAligned; };
  const uint64_t before = aligned(shape.count() * sizeof(half_t)),
                 after = before + aligned(shape.count() * sizeof(float));
  model.tensors = {{"frame", frame, network::Storage::kIo, 0},
                   {"before", sum, network::Storage::kIo, before},
                   {"sum", sum, network::Storage::kIo, after}};
  model.io_bytes = after + aligned(shape.count() * sizeof(float));
  model.input.picture.order = shape.c() == 1 ? ChannelOrder::kGray : ChannelOrder::kRgb;
  network::Step step;
  step.name = "leak";
  step.inputs = {1, 0};
  step.outputs = {2};
  ElementwiseAttributes chain;
  chain.inputs = 2;
  chain.steps = {ElementwiseAttributes::Step::of(kernels::Curve::kLine, factor, 0, 0),
                 ElementwiseAttributes::Step::of(kernels::Operation::kAdd, 2, 1)};
  step.layer = std::make_shared<layers::LayerAttributes>(chain);
  model.steps = {step};
  model.extra_inputs = {{"before", 1, 2}};
  model.outputs = {{"sum", 2}};
  return model;
}

}  // namespace dvnn::test
