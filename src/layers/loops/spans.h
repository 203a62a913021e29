// SPDX-License-Identifier: Apache-2.0
// For layers in which a result depends on one element of each operand, whose dimensions of 1 may
// repeat, as in NumPy. Results are made in spans of floats that fit the first-level cache, which
// threads share. Tensors that have the same order are walked in the order of their memory, whatever
// the layout, else in rows: then an operand in another order, or one that repeats, is floats once.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "base/share.h"
#include "base/span.h"
#include "layers/factories.h"
#include "layers/loops/floats.h"

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
  /// Operands, and what a layer makes of them on its way.
  static constexpr size_t kMostValues = 24;
  /// Elements of a span: whole pixels of any chunk, which has 1 to 8 channels. As many values'
  /// spans as there can be fit the first-level cache or miss it by little.
  static constexpr size_t kElements = 840;
  using Room = float[kElements];

  /// Checks that inputs repeat to the output's shape, or have as many elements, which correspond in
  /// row-major order.
  static Status check(Span<const TensorDesc> inputs, const TensorDesc& output);

  /// Operands are the inputs, then `constants`, which stay the caller's: a value for each channel,
  /// or one.
  Spans(Span<const TensorDesc> inputs, const TensorDesc& output,
        Span<const std::vector<float>> constants = {});

  /// Calls compute(at, rooms, result, count) for each span; at[k] has the k-th operand's elements,
  /// and rooms behind those of the operands are free. What is computed last goes to `result`, which
  /// may be an at[k].
  template <typename Compute>
  void run(Span<const ConstTensorView> inputs, const TensorView& output, Compute compute) {
    const bool apart = begin(inputs, output);
    float* const made = apart ? Workspace::current().floats(count_) : nullptr;
    const bool direct = !apart && output.desc.type == ElementType::kFloat32;
    float* const whole = direct ? reinterpret_cast<float*>(output.data) : made;
    share(static_cast<int>(tasks_.size()), [&](size_t i) {
      alignas(64) Room rooms[kMostValues];
      alignas(64) Room result;
      const float* at[kMostValues];
      const Task& task = tasks_[i];
      for (size_t done = 0; done < task.count; done += kElements) {
        const size_t first = task.begin + done, count = std::min(kElements, task.count - done);
        for (size_t k = 0; k < operands_.size(); ++k) {
          at[k] = read(operands_[k], task, first, count, inputs, rooms[k]);
        }
        compute(at, rooms, whole ? whole + first : result, count);
        if (!whole) put_span(result, output, first, count);
      }
    });
    if (apart) write(made, output);
  }

 private:
  // A part of the tensor in the order of its memory. In the device's layouts its pixels have
  // `channels` channels side by side, from `first_channel` on, where operands have one value for
  // each; else there is one channel of all elements.
  struct Task {
    size_t begin, count, first_channel, channels;
  };
  enum class Kind {
    kInStep,    // lies in memory in the order of the walk
    kRows,      // floats, made of what lies in another order
    kSingle,    // one value
    kChannels,  // a value for each channel, while pixels of the device's layouts are walked
    kRepeated,  // dimensions of 1 repeat, while rows are walked
  };
  struct Operand {
    Kind kind;
    size_t input;         // unless it is a constant
    const float* values;  // of a constant; else what the run reads for kinds but kInStep
    std::optional<FloatReader> reader;
    std::optional<Repeated> places;
  };

  void add_operand(size_t input, const TensorDesc& desc, const float* values);
  bool walks_memory(Span<const TensorDesc> inputs, Span<const std::vector<float>> constants,
                    const TensorDesc& output) const;
  void make_tasks();
  void add_tasks(size_t begin, size_t count, size_t first_channel, size_t channels);
  // Reads what has to be floats as a whole. Returns whether the result must be, too.
  bool begin(Span<const ConstTensorView> inputs, const TensorView& output);
  const float* read(const Operand& operand, const Task& task, size_t first, size_t count,
                    Span<const ConstTensorView> inputs, float* room) const;
  void write(const float* made, const TensorView& view) const;

  Shape shape_;
  size_t count_;
  bool in_memory_;    // tensors are walked in the order of their memory, else in rows
  bool out_in_step_;  // which is the result's, too
  std::vector<Operand> operands_;
  std::vector<Task> tasks_;
  std::optional<Moves> moves_;  // from row-major floats to the output
};

/// The cost of a layer that makes its result so.
Cost spans_cost(Span<const TensorDesc> inputs, Span<const TensorDesc> outputs);
/// The axis of channels: the second, or the only one.
int channel_axis(const Shape& shape);
/// Returns whether an operand of this shape has one element for each channel of `whole`.
bool is_per_channel(const Shape& shape, const Shape& whole);
/// The dimensions of results whose operands' dimensions of 1 repeat.
DimsResult broadcast_dims(Span<const Shape> inputs);

}  // namespace dvnn::layers
