// SPDX-License-Identifier: Apache-2.0
#include "layers/float_layer.h"

#include "base/saturate.h"

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

Cost float_layer_cost(Span<const TensorDesc> inputs, Span<const TensorDesc> outputs,
                      uint64_t taps) {
  const uint64_t made = elements_of(outputs);
  // The result, where it must not lie where an input does.
  return one_look(inputs, outputs).borrow_floats(made).add_work(saturating_product(made, taps));
}

}  // namespace dvnn::layers
