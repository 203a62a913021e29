// SPDX-License-Identifier: Apache-2.0
// Which step of a slot reads the bytes that which one wrote, and where they lie. Private to
// src/network.
#pragma once

#include <optional>
#include <vector>

#include "network/slot_plan.h"

namespace dvnn::network {

/// A tensor as a step, or the caller, leaves it in memory. Times count the acts from 1; the input
/// is there at 0, and outputs are read after all.
struct Value {
  int tensor;
  size_t written;
  std::vector<size_t> read = {};
};

/// Follows the bytes through the steps of a network.
class SlotValues {
 public:
  SlotValues(const ModelNetwork& network, const std::vector<Act>& acts);

  /// Returns whether a step wrote every byte that is read, each tensor being written by one step.
  bool known() const { return known_; }
  /// Returns the value that a step wrote to exactly this tensor; null if there is none.
  Value* value_of(int tensor) {
    const auto& place = nth(values_of_, tensor);
    return place ? &values_[*place] : nullptr;
  }
  /// Returns the value that the step at `time` reads as this tensor: what was written to it, or to
  /// its bytes as a picture of other rows, whose pixels have the same order. Null if there is none.
  Value* value_read(int tensor, size_t time);
  /// Returns the value that holds all bytes of a tensor which the step at `time` reads; null if
  /// several do.
  Value* value_around(int tensor, size_t time);
  /// For each act, the acts whose results it reads.
  std::vector<std::vector<size_t>> operands(size_t acts) const;
  /// Moves all times: new_times[t] for time t.
  void move_times(const std::vector<size_t>& new_times);
  /// Places all tensors anew, without the values that are `dropped` and have an empty `read`.
  void place(const std::vector<bool>& dropped, SlotPlan* plan);

 private:
  ByteRange range_of(int tensor) const {
    const TensorInfo& info = model_.tensor(tensor);
    return {info.offset, info.desc.bytes()};
  }
  bool have_same_pixels(int a, int b) const;
  bool in_io(int tensor) const { return model_.tensor(tensor).storage == Storage::kIo; }
  size_t root(int tensor) {
    auto at = static_cast<size_t>(tensor);
    while (parents_[at] != at) at = parents_[at] = parents_[parents_[at]];
    return at;
  }
  void write(int tensor, size_t time);
  void read(int tensor, size_t time);
  bool are_apart();

  const Model& model_;
  std::vector<size_t> parents_;
  std::vector<std::optional<size_t>> values_of_;
  std::vector<Value> values_;  // in the order of time
  bool known_ = true;
};

}  // namespace dvnn::network
