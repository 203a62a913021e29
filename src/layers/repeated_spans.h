// SPDX-License-Identifier: Apache-2.0
// For layers of single elements whose operands may repeat along some axes, as in NumPy. The result
// is made in spans that fit the first-level cache: an operand of the result's size is converted
// span by span, one that repeats is floats once and is laid out again for each span.
#pragma once

#include <algorithm>
#include <vector>

#include "base/share.h"
#include "base/span.h"
#include "layers/float_io.h"

namespace dvnn::layers {

/// An operand whose dimensions of 1 repeat to a result's.
class Repeated {
 public:
  Repeated(const Shape& from, const Shape& to);
  /// Writes the operand's elements for the result's row-major elements begin..begin+count-1.
  void fill(const float* from, size_t begin, size_t count, float* to) const;

 private:
  struct Axis {
    size_t count, step;  // of the result; elements of the operand from one index to the next
  };
  std::vector<Axis> axes_;  // of as few as there can be; the last one's step is 0 or 1
};

class RepeatedSpans {
 public:
  /// All inputs repeat to the output's shape.
  RepeatedSpans(Span<const TensorDesc> inputs, const TensorDesc& output);

  /// Calls compute(in, result, count) for spans of floats, where in[k] is the k-th input's.
  template <typename Compute>
  void run(Span<const ConstTensorView> inputs, const TensorView& output, Compute compute) {
    constexpr size_t kMostInputs = 3;
    const float* whole[kMostInputs] = {};
    bool apart = false;
    for (size_t k = 0; k < inputs.size(); ++k) {
      if (!operands_[k].in_step) whole[k] = operands_[k].reader.read(inputs[k]);
      apart = apart || share_memory(inputs[k], output);
    }
    apart = apart || !in_step_;
    float* const made = apart ? Workspace::current().floats(count_) : nullptr;
    share(static_cast<int>((count_ + kTask - 1) / kTask), [&](size_t i) {
      alignas(64) float spans[kMostInputs][kSpan], result[kSpan];
      const size_t first = i * kTask, end = std::min(count_, first + kTask);
      for (size_t at = first; at < end; at += kSpan) {
        const size_t count = std::min(kSpan, end - at);
        const float* in[kMostInputs] = {};
        for (size_t k = 0; k < inputs.size(); ++k) {
          in[k] = operand_span(operands_[k], inputs[k], whole[k], at, count, spans[k]);
        }
        compute(in, apart ? made + at : result, count);
        if (!apart) put_span(result, output, at, count);
      }
    });
    if (apart) write(made, output);
  }

 private:
  static constexpr size_t kSpan = 1024, kTask = 8 * kSpan;

  struct Operand {
    bool in_step;  // its memory has the result's elements in their order
    bool repeats;  // else its floats have
    Repeated places;
    FloatReader reader;
  };

  static const float* operand_span(const Operand& operand, const ConstTensorView& view,
                                   const float* whole, size_t at, size_t count, float* span);
  void write(const float* made, const TensorView& view) const;

  std::vector<Operand> operands_;
  size_t count_;
  bool in_step_;  // the result's memory is row-major
  std::optional<Moves> moves_;
};

}  // namespace dvnn::layers
