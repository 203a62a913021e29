// SPDX-License-Identifier: Apache-2.0
// For layers in which a result depends only on the elements at the same place. Tensors that have
// the same order are walked in the order of their memory, whatever the layout, in spans that fit
// the cache; a span of binary16 is converted at once.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "base/share.h"
#include "base/span.h"
#include "layers/factories.h"
#include "layers/float_io.h"

namespace dvnn::layers {

class ElementSpans {
 public:
  /// All tensors hold the same number of elements, which correspond in row-major order.
  ElementSpans(Span<const TensorDesc> inputs, const TensorDesc& output)
      : count_(output.shape.count()), writer_(output) {
    for (const TensorDesc& input : inputs) {
      readers_.emplace_back(input);
      in_step_ = in_step_ && lie_in_step(input, output);
    }
  }

  /// Calls fold(k, in, result, count) for spans of the inputs, k = 0, 1, ... for the same `result`:
  /// with k = 0 it fills it, later it adds to it. Threads share the spans. With a single input
  /// `result` may be `in`.
  template <typename Fold>
  void run(Span<const ConstTensorView> inputs, const TensorView& output, Fold fold) {
    if (!in_step_) return run_whole(inputs, output, fold);
    const bool in_place = inputs.size() == 1 && output.desc.type == ElementType::kFloat32;
    const size_t tasks = (count_ + kTask - 1) / kTask;
    share(static_cast<int>(tasks), [&](size_t i) {
      alignas(64) float result[kSpan], converted[kSpan];
      const size_t begin = i * kTask, end = std::min(count_, begin + kTask);
      for (size_t at = begin; at < end; at += kSpan) {
        const size_t count = std::min(kSpan, end - at);
        float* const to = in_place ? reinterpret_cast<float*>(output.data) + at : result;
        for (size_t k = 0; k < inputs.size(); ++k) {
          fold(k, span_of(inputs[k], at, count, converted), to, count);
        }
        if (!in_place) put_span(result, output, at, count);
      }
    });
  }

 private:
  static constexpr size_t kSpan = 2048, kTask = 8 * kSpan;

  template <typename Fold>
  void run_whole(Span<const ConstTensorView> inputs, const TensorView& output, Fold fold) {
    // With several inputs the result needs its own memory, because the output may share memory with
    // a later input.
    const bool direct = inputs.size() == 1;
    float* const result = direct ? writer_.begin(output) : Workspace::current().floats(count_);
    for (size_t k = 0; k < inputs.size(); ++k) {
      const float* const in = readers_[k].read(inputs[k]);
      share(static_cast<int>((count_ + kTask - 1) / kTask), [&](size_t i) {
        const size_t at = i * kTask;
        fold(k, in + at, result + at, std::min(kTask, count_ - at));
      });
    }
    if (direct) {
      writer_.finish(output);
    } else {
      write_nchw(result, output);
    }
  }

  size_t count_;
  std::vector<FloatReader> readers_;
  FloatWriter writer_;
  bool in_step_ = true;
};

/// A layer whose elements are those of its one input, each by itself: function(in, out, count).
template <typename Function>
class SpanLayer final : public CpuLayer {
 public:
  SpanLayer(const TensorDesc& input, const TensorDesc& output, Function function)
      : function_(std::move(function)), spans_({&input, 1}, output) {}
  Status run(Span<const ConstTensorView> inputs, Span<const TensorView> outputs) override {
    spans_.run(inputs, outputs[0], [this](size_t, const float* in, float* out, size_t count) {
      function_(in, out, count);
    });
    return {};
  }

 private:
  Function function_;
  ElementSpans spans_;
};

template <typename Function>
LayerResult make_span_layer(Span<const TensorDesc> inputs, Span<const TensorDesc> outputs,
                            Function function) {
  DVNN_TRY(expect_arity(inputs, 1, 1, outputs));
  DVNN_TRY(expect_same_elements(inputs[0], outputs[0]));
  return std::unique_ptr<CpuLayer>(
      new SpanLayer<Function>(inputs[0], outputs[0], std::move(function)));
}

/// The layer of a curve (kernels/curves.h) with its parameters.
LayerResult make_curve_layer(const CurveOf& by, Span<const TensorDesc> inputs,
                             Span<const TensorDesc> outputs);

}  // namespace dvnn::layers
