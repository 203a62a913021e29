// SPDX-License-Identifier: Apache-2.0
// Rows of a plane in which every sample has bytes of its own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/aligned.h"

namespace dvnn::image {

/// The two most recently used rows of 16-bit pixels, expanded. Resampling reads two rows at once,
/// and each of them repeatedly when it enlarges.
class ExpandedRows {
 public:
  /// `width`: pixels of a row, of which those from `first` to before `end` are needed.
  void prepare(int width, int first, int end);
  bool is_used() const { return !rows_[0].bytes.empty(); }
  /// Call before another frame.
  void forget();
  /// Returns row `y` of the plane as expand_565() makes it; valid until two other rows were
  /// requested.
  const uint8_t* row(const uint8_t* plane, ptrdiff_t stride, int y);

 private:
  struct Row {
    int y = -1;
    AlignedVector<uint8_t> bytes;
  };
  std::array<Row, 2> rows_;
  size_t latest_ = 0;
  int first_ = 0, end_ = 0;
};

/// A plane of a frame. `expanded` is null if samples are bytes already.
struct PlaneRows {
  const uint8_t* first = nullptr;
  ptrdiff_t stride = 0;
  ExpandedRows* expanded = nullptr;

  const uint8_t* row(int y) const {
    return expanded ? expanded->row(first, stride, y) : first + y * stride;
  }
};

}  // namespace dvnn::image
