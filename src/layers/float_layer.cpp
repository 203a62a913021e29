// SPDX-License-Identifier: Apache-2.0
#include "layers/float_layer.h"

namespace dvnn::layers {

FloatTensors::FloatTensors(Span<const TensorDesc> inputs, const TensorDesc& output)
    : writer_(output), in_(inputs.size()), stays_(inputs.size()) {
  for (const TensorDesc& input : inputs) readers_.emplace_back(input);
}

FloatTensors::~FloatTensors() = default;

Status FloatTensors::run(Span<const ConstTensorView> inputs, Span<const TensorView> outputs) {
  for (size_t i = 0; i < in_.size(); ++i) in_[i] = readers_[i].read(inputs[i]);
  compute(in_.data(), writer_.begin_apart(inputs, outputs[0]));
  writer_.finish(outputs[0]);
  return {};
}

}  // namespace dvnn::layers
