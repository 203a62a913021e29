// SPDX-License-Identifier: Apache-2.0
// What a frame brings for its network beside the first input.
#pragma once

#include <cstdint>
#include <vector>

#include "network/network.h"

namespace dvnn::network {

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

}  // namespace dvnn::network
