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
      : compute_(std::move(compute)),
        in_(inputs.size()),
        count_(static_cast<size_t>(output.shape.elements())) {
    for (const TensorDesc& input : inputs) readers_.emplace_back(input);
  }

  Status run(Span<const ConstTensorView> inputs, Span<const TensorView> outputs) override {
    for (size_t i = 0; i < in_.size(); ++i) in_[i] = readers_[i].read(inputs[i]);
    // The result has memory of its own: the output may share memory with an input.
    float* const result = Workspace::current().floats(count_);
    compute_(in_.data(), result);
    write_nchw(result, outputs[0]);
    return {};
  }

 private:
  Compute compute_;
  std::vector<FloatReader> readers_;
  std::vector<const float*> in_;
  size_t count_;
};

/// The layer that calls compute(in, result): in[k] is the k-th input.
template <typename Compute>
LayerResult make_float_layer(Span<const TensorDesc> inputs, Span<const TensorDesc> outputs,
                             Compute compute) {
  return std::unique_ptr<CpuLayer>(new FloatLayer<Compute>(inputs, outputs[0], std::move(compute)));
}

}  // namespace dvnn::layers
