// SPDX-License-Identifier: Apache-2.0
// What a network takes beside a frame's first input: the states of its stream, values that each
// frame brings, and the newest results of another network.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/result.h"
#include "network/network.h"
#include "tensor/tensor.h"

namespace dvnn::network {

/// What one stream keeps for its network: the states, which each run takes from the one before, all
/// zeros at first. They lie apart from the slots, so that each frame may run in another slot, and a
/// slot may go. Runs of a stream come one after the other, but any
/// thread may call it: a run that was given up may end while a later one is under way, and its
/// states are not taken then.
class StreamMemory {
 public:
  explicit StreamMemory(std::shared_ptr<Network> network);

  /// Makes all states zeros, as before the first frame.
  void begin_anew();
  /// Copies the states to the slot, and returns the run's number.
  uint64_t begin_run(Slot* slot);
  /// Takes the states that the run of that number has left in the slot, unless another one has
  /// begun since, or the stream has begun anew. States that are not finite would never be finite
  /// again, so they begin anew.
  void end_run(const Slot& slot, uint64_t run);
  /// Copies the states to the slot, for a run that leaves none.
  void fill(Slot* slot) const;
  /// Returns the bytes of the states, which each run copies twice.
  size_t state_bytes() const;

 private:
  void copy_to(Slot* slot) const;
  void clear_states();
  const Model& model() const { return network_->model(); }

  const std::shared_ptr<Network> network_;
  mutable std::mutex mutex_;
  // As the slot has them, in the order of Model::extra_inputs; empty for live inputs.
  std::vector<std::vector<uint8_t>> values_;
  std::vector<float> scratch_;
  uint64_t runs_ = 0;
};

/// The values of a network's live inputs for one run, as slots have them; all zeros at first.
class LiveInputs {
 public:
  explicit LiveInputs(const Model& model);

  /// Sets extra input `i`, a live one, from row-major numbers, as many as its shape has, or from
  /// a tensor with as many elements.
  void set(size_t i, const float* values);
  void set(size_t i, const ConstTensorView& tensor);
  /// Returns whether it was set.
  bool has(size_t i) const { return is_set_[i]; }
  /// Copies the live inputs to the slot, which runs the same network.
  void fill(Slot* slot) const;

 private:
  std::vector<TensorDesc> descs_;             // of all extra inputs
  std::vector<std::vector<uint8_t>> values_;  // empty for states
  std::vector<bool> is_set_;
};

/// How results lie one after the other in an input, both row-major: each adds rows along one axis.
struct RowLayout {
  size_t outer = 1;  // elements of the axes before that one
  size_t rows = 1;   // of the input, along the axis
  size_t inner = 1;  // elements of the axes behind it
  size_t added = 1;  // rows of a result

  size_t input_elements() const { return outer * rows * inner; }
  size_t result_elements() const { return outer * added * inner; }
};

/// Finds the layout by the shapes, in which axes of one element do not count. A result with as many
/// elements as the input is a whole input. Else it has all axes of the input but for one, in which
/// it differs or which it lacks; of several such axes, the outermost. kMalformed if it does not
/// fit.
Result<RowLayout> row_layout(const Shape& input, const Shape& result);

/// The newest rows of a stream of results: the input of a network that is shown what another
/// network has found lately, such as the last 76 lines of a spectrum of which each run makes eight.
class RowWindow {
 public:
  explicit RowWindow(const RowLayout& layout);

  const RowLayout& layout() const { return layout_; }
  /// Adds a result, which has as many elements as the layout says, in place of the oldest rows. Of
  /// a result with more rows than the window, the last ones count.
  void add(const float* result);
  /// Whether as many rows have come as the input has.
  bool is_full() const { return filled_ == layout_.rows; }
  /// The input; zeros stand for rows that have not come.
  const std::vector<float>& input() const { return input_; }

 private:
  RowLayout layout_;
  size_t filled_ = 0;  // rows
  std::vector<float> input_;
};

}  // namespace dvnn::network
