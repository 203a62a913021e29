// SPDX-License-Identifier: Apache-2.0
// For layers in which a result depends only on the elements at the same place. Tensors that have
// the same order are walked in the order of their memory, whatever the layout, in spans that fit
// the cache; a span of binary16 is converted at once.
#pragma once

#include <algorithm>
#include <vector>

#include "base/share.h"
#include "base/span.h"
#include "layers/float_io.h"
#include "tensor/convert_tensor.h"
#include "tensor/half.h"

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
        if (!in_place) put(result, output, at, count);
      }
    });
  }

 private:
  static constexpr size_t kSpan = 2048, kTask = 8 * kSpan;

  static bool lie_in_step(const TensorDesc& a, const TensorDesc& b) {
    if (!is_float(a.type) || !is_float(b.type) || plain_layout(a) != plain_layout(b)) return false;
    return a.layout == Layout::kNchw || a.shape == b.shape;
  }

  static const float* span_of(const ConstTensorView& view, size_t at, size_t count,
                              float* converted) {
    if (view.desc.type == ElementType::kFloat32) {
      return reinterpret_cast<const float*>(view.data) + at;
    }
    half_to_float(reinterpret_cast<const half_t*>(view.data) + at, converted, count);
    return converted;
  }

  static void put(const float* floats, const TensorView& view, size_t at, size_t count) {
    if (view.desc.type == ElementType::kFloat32) {
      std::copy(floats, floats + count, reinterpret_cast<float*>(view.data) + at);
    } else {
      float_to_half(floats, reinterpret_cast<half_t*>(view.data) + at, count);
    }
  }

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

}  // namespace dvnn::layers
