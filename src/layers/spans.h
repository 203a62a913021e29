// SPDX-License-Identifier: Apache-2.0
// For layers in which a result depends on one element of each operand, whose dimensions of 1 may
// repeat, as in NumPy. Results are made in spans of floats that fit the first-level cache, which
// threads share. Tensors that have the same order are walked in the order of their memory, whatever
// the layout, else in rows: then an operand in another order, or one that repeats, is floats once.
#pragma once

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/share.h"
#include "base/span.h"
#include "layers/factories.h"
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

class Spans {
 public:
  static constexpr size_t kMostTogether = 3;

  /// Inputs repeat to the output's shape, or have as many elements, which correspond in row-major
  /// order.
  Spans(Span<const TensorDesc> inputs, const TensorDesc& output);

  /// Calls compute(in, result, count) for spans of up to kMostTogether inputs; in[k] is the k-th
  /// one's. With a single input `result` may be in[0].
  template <typename Compute>
  void run(Span<const ConstTensorView> inputs, const TensorView& output, Compute compute) {
    constexpr size_t kSpan = 1024;  // of each input and the result
    make<kSpan>(inputs, output, [&](size_t at, size_t count, float* result) {
      alignas(64) float rooms[kMostTogether][kSpan];
      const float* in[kMostTogether] = {};
      for (size_t k = 0; k < inputs.size(); ++k) in[k] = read(k, inputs[k], at, count, rooms[k]);
      compute(static_cast<const float* const*>(in), result, count);
    });
  }

  /// Calls fold(k, in, result, count) for spans of any number of inputs, k = 0, 1, ... for the same
  /// `result`: with k = 0 it fills it, later it adds to it.
  template <typename Fold>
  void fold(Span<const ConstTensorView> inputs, const TensorView& output, Fold fold) {
    constexpr size_t kSpan = 2048;  // of one input and the result
    make<kSpan>(inputs, output, [&](size_t at, size_t count, float* result) {
      alignas(64) float room[kSpan];
      for (size_t k = 0; k < inputs.size(); ++k) {
        fold(k, read(k, inputs[k], at, count, room), result, count);
      }
    });
  }

 private:
  // Of an operand where tensors are walked in rows.
  struct Operand {
    bool in_rows;  // its memory has the result's elements in their order
    bool repeats;
    Repeated places;
    FloatReader reader;
  };

  // Calls fill(at, count, result) for the spans of the output.
  template <size_t kSpan, typename Fill>
  void make(Span<const ConstTensorView> inputs, const TensorView& output, Fill fill) {
    constexpr size_t kTask = 8 * kSpan;
    const bool apart = begin(inputs, output);
    float* const made = apart ? Workspace::current().floats(count_) : nullptr;
    const bool in_place = !apart && inputs.size() == 1 && output.desc.type == ElementType::kFloat32;
    share(static_cast<int>((count_ + kTask - 1) / kTask), [&](size_t i) {
      alignas(64) float result[kSpan];
      const size_t first = i * kTask, end = std::min(count_, first + kTask);
      for (size_t at = first; at < end; at += kSpan) {
        const size_t count = std::min(kSpan, end - at);
        float* const to = apart      ? made + at
                          : in_place ? reinterpret_cast<float*>(output.data) + at
                                     : result;
        fill(at, count, to);
        if (!apart && !in_place) put_span(result, output, at, count);
      }
    });
    if (apart) write(made, output);
  }

  // Reads what has to be floats as a whole. Returns whether the result must be, too.
  bool begin(Span<const ConstTensorView> inputs, const TensorView& output);
  // Elements at..at+count-1 of the k-th input, in `room` unless they lie in memory as needed.
  const float* read(size_t k, const ConstTensorView& view, size_t at, size_t count,
                    float* room) const {
    if (!whole_[k]) return span_of(view, at, count, room);
    if (!operands_[k].repeats) return whole_[k] + at;
    operands_[k].places.fill(whole_[k], at, count, room);
    return room;
  }
  void write(const float* made, const TensorView& view) const;

  size_t count_;
  bool in_step_ = true;              // tensors are walked in the order of their memory
  bool out_in_rows_;                 // the result's memory is row-major
  std::vector<Operand> operands_;    // none if in_step_
  std::vector<const float*> whole_;  // by input: its floats, where they are needed as a whole
  std::optional<Moves> moves_;       // from row-major floats to the output
};

/// The cost of a layer that makes its result so.
Cost spans_cost(Span<const TensorDesc> inputs, Span<const TensorDesc> outputs);

/// A layer of up to Spans::kMostTogether inputs: compute(in, result, count), as Spans::run() has
/// it.
template <typename Compute>
class SpanLayer final : public CpuLayer {
 public:
  SpanLayer(Span<const TensorDesc> inputs, const TensorDesc& output, Compute compute)
      : compute_(std::move(compute)), spans_(inputs, output) {}
  Status run(Span<const ConstTensorView> inputs, Span<const TensorView> outputs) override {
    spans_.run(inputs, outputs[0], compute_);
    return {};
  }

 private:
  Compute compute_;
  Spans spans_;
};

/// The layer of one input: function(in, result, count).
template <typename Function>
LayerResult make_function_layer(Span<const TensorDesc> inputs, Span<const TensorDesc> outputs,
                                Function function) {
  DVNN_TRY(expect_arity(inputs, 1, 1, outputs));
  DVNN_TRY(expect_same_elements(inputs[0], outputs[0]));
  auto compute = [function = std::move(function)](const float* const* in, float* result,
                                                  size_t count) { function(in[0], result, count); };
  return std::unique_ptr<CpuLayer>(
      new SpanLayer<decltype(compute)>(inputs, outputs[0], std::move(compute)));
}

/// The layer of a curve (kernels/curves.h) with its parameters.
LayerResult make_curve_layer(const CurveOf& by, Span<const TensorDesc> inputs,
                             Span<const TensorDesc> outputs);

}  // namespace dvnn::layers
