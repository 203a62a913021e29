// SPDX-License-Identifier: Apache-2.0
// A layer that is a function of whole tensors in row-major floats.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "layers/attributes.h"
#include "layers/float_io.h"

namespace dvnn::layers {

template <typename Compute>
class FloatLayer final : public CpuLayer {
 public:
  FloatLayer(Span<const TensorDesc> inputs, const TensorDesc& output, Compute compute)
      : compute_(std::move(compute)), writer_(output), in_(inputs.size()) {
    for (const TensorDesc& input : inputs) readers_.emplace_back(input);
  }

  Status run(Span<const ConstTensorView> inputs, Span<const TensorView> outputs) override {
    for (size_t i = 0; i < in_.size(); ++i) in_[i] = readers_[i].read(inputs[i]);
    compute_(in_.data(), writer_.begin_apart(inputs, outputs[0]));
    writer_.finish(outputs[0]);
    return {};
  }

 private:
  Compute compute_;
  std::vector<FloatReader> readers_;
  FloatWriter writer_;
  std::vector<const float*> in_;
};

/// The layer that calls compute(in, result): in[k] is the k-th input. They share no memory.
template <typename Compute>
LayerResult make_float_layer(Span<const TensorDesc> inputs, Span<const TensorDesc> outputs,
                             Compute compute) {
  return std::unique_ptr<CpuLayer>(new FloatLayer<Compute>(inputs, outputs[0], std::move(compute)));
}

}  // namespace dvnn::layers
