// SPDX-License-Identifier: Apache-2.0
// For layers whose result depends on one element of each operand; operands' dimensions of 1 may
// repeat, as in NumPy. Results are computed in spans of floats that fit the first-level cache;
// threads share them. If all tensors have the same order, spans follow their memory, whatever the
// layout, else rows; then an operand in another order, or one that repeats, is converted to floats
// as a whole.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "base/share.h"
#include "base/span.h"
#include "layers/factories.h"
#include "layers/loops/floats.h"

namespace dvnn::layers {

/// An operand whose dimensions of 1 repeat to a result's shape.
class Repeated {
 public:
  Repeated(const Shape& from, const Shape& to);
  /// Writes the operand's elements for the result's row-major elements begin..begin+count-1.
  void fill(const float* from, size_t begin, size_t count, float* to) const;

 private:
  struct Axis {
    size_t count, step;  // of the result; elements of the operand per index
  };
  std::vector<Axis> axes_;  // as few as possible; the last one's step is 0 or 1
};

class Spans {
 public:
  /// Most operands and intermediate results.
  static constexpr size_t kMostValues = 24;
  /// Elements of a span: a multiple of every number of channels from 1 to 8, so whole pixels of any
  /// chunk. The spans of kMostValues values fit the first-level cache or miss it by little.
  static constexpr size_t kElements = 840;
  using Room = float[kElements];

  /// Checks that each input repeats to the output's shape, or has as many elements, which then
  /// correspond in row-major order.
  static Status check(Span<const TensorDesc> inputs, const TensorDesc& output);

  /// Operands are the inputs, then `constants`, which the caller keeps: one value per channel, or
  /// one for all.
  Spans(Span<const TensorDesc> inputs, const TensorDesc& output,
        Span<const std::vector<float>> constants = {});

  /// Calls compute(at, rooms, result, count) for each span. at[k] has operand k's elements; rooms
  /// after those of the operands are free. compute() writes its result to `result`, which may be
  /// one of at[k].
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
  // `channels` adjacent channels, from `first_channel` on, if an operand has one value per channel;
  // otherwise all elements count as one channel.
  struct Task {
    size_t begin, count, first_channel, channels;
  };
  enum class Kind {
    kInStep,    // lies in memory in the order of the walk
    kRows,      // converted to row-major floats as a whole
    kSingle,    // one value
    kChannels,  // a value per channel; spans follow the pixels of the device's layouts
    kRepeated,  // dimensions of 1 repeat; spans follow rows
  };
  struct Operand {
    Kind kind;
    size_t input;         // unless the operand is a constant
    const float* values;  // a constant's; for kinds but kInStep, what the run reads
    std::optional<FloatReader> reader;
    std::optional<Repeated> places;
  };

  void add_operand(size_t input, const TensorDesc& desc, const float* values);
  bool walks_memory(Span<const TensorDesc> inputs, Span<const std::vector<float>> constants,
                    const TensorDesc& output) const;
  void make_tasks();
  void add_tasks(size_t begin, size_t count, size_t first_channel, size_t channels);
  // Reads the operands that must be floats as a whole. Returns whether the result must be, too.
  bool begin(Span<const ConstTensorView> inputs, const TensorView& output);
  const float* read(const Operand& operand, const Task& task, size_t first, size_t count,
                    Span<const ConstTensorView> inputs, float* room) const;
  void write(const float* made, const TensorView& view) const;

  Shape shape_;
  size_t count_;
  bool in_memory_;    // spans follow the order of memory, else rows
  bool out_in_step_;  // the result's memory has the order of the spans
  std::vector<Operand> operands_;
  std::vector<Task> tasks_;
  std::optional<Moves> moves_;  // from row-major floats to the output
};

/// Returns the cost of a layer that computes by spans.
Cost spans_cost(Span<const TensorDesc> inputs, Span<const TensorDesc> outputs);
/// Returns the axis of channels: the second, or the only one.
int channel_axis(const Shape& shape);
/// Returns whether an operand of this shape has one element for each channel of `whole`.
bool is_per_channel(const Shape& shape, const Shape& whole);
/// Returns the dimensions of the result of operands whose dimensions of 1 repeat.
DimsResult broadcast_dims(Span<const Shape> inputs);

}  // namespace dvnn::layers
