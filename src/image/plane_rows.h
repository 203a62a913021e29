// SPDX-License-Identifier: Apache-2.0
// The rows of a plane, with every sample in bytes of its own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/aligned.h"

namespace dvnn::image {

/// The last two rows of pixels of 5, 6 and 5 bits that were asked for, expanded. As many are read
/// at once, and enlarging a picture reads each of them again and again.
class ExpandedRows {
 public:
  /// `width`: pixels of a row, of which those from `first` to before `end` are wanted.
  void prepare(int width, int first, int end);
  bool is_used() const { return !rows_[0].bytes.empty(); }
  /// Another frame follows.
  void forget();
  /// Pixels of row `y` of the plane as expand_565() makes them; valid until two other rows have
  /// been asked for.
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

/// A plane of a frame. `expanded` is null where samples are bytes already.
struct PlaneRows {
  const uint8_t* first = nullptr;
  ptrdiff_t stride = 0;
  ExpandedRows* expanded = nullptr;

  const uint8_t* row(int y) const {
    return expanded ? expanded->row(first, stride, y) : first + y * stride;
  }
};

}  // namespace dvnn::image
