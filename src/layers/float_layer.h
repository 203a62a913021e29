// SPDX-License-Identifier: Apache-2.0
// A layer that is a function of whole tensors in row-major floats.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "layers/attributes.h"
#include "layers/cost.h"
#include "layers/float_io.h"

namespace dvnn::layers {

/// What such layers have in common.
class FloatTensors : public CpuLayer {
 public:
  FloatTensors(Span<const TensorDesc> inputs, const TensorDesc& output);
  ~FloatTensors() override;
  Status run(Span<const ConstTensorView> inputs, Span<const TensorView> outputs) final;
  void input_will_stay(size_t i) final { stays_[i] = true; }

 protected:
  /// Returns whether input `i` is the same each time.
  bool input_stays(size_t i) const { return stays_[i]; }

 private:
  virtual void compute(const float* const* in, float* result) = 0;

  std::vector<FloatReader> readers_;
  FloatWriter writer_;
  std::vector<const float*> in_;
  std::vector<bool> stays_;
};

template <typename Compute>
class FloatLayer final : public FloatTensors {
 public:
  FloatLayer(Span<const TensorDesc> inputs, const TensorDesc& output, Compute compute)
      : FloatTensors(inputs, output), compute_(std::move(compute)) {}

 private:
  void compute(const float* const* in, float* result) override { compute_(in, result); }

  Compute compute_;
};

/// The layer that calls compute(in, result): in[k] is the k-th input. They share no memory.
template <typename Compute>
LayerResult make_float_layer(Span<const TensorDesc> inputs, Span<const TensorDesc> outputs,
                             Compute compute) {
  return std::unique_ptr<CpuLayer>(new FloatLayer<Compute>(inputs, outputs[0], std::move(compute)));
}

/// The cost of such a layer, which looks at `taps` elements for each of its results. What
/// compute() has beside its inputs and its result is the layer's own to add.
Cost float_layer_cost(Span<const TensorDesc> inputs, Span<const TensorDesc> outputs,
                      uint64_t taps = 1);

}  // namespace dvnn::layers
