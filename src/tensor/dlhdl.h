// SPDX-License-Identifier: Apache-2.0
// The buffers of MathWorks' deep learning processor, by its published "External Memory Data
// Format".
//
// X is MATLAB's first dimension (the rows of an image), Y the second, Z the channels. A processor
// with ConvThreadNumber t works on C = sqrt(t) channels at once and moves N = 2^ceil(log2 C) values
// at a time. Element (x, y, z) of a convolution module's input or output lies at
//     ((z / C) * X * Y + y * X + x) * N + z % C
// and the gaps are zero. Outputs of a fully connected module are plain arrays.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "tensor/tensor.h"

namespace dvnn {

class DlhdlLayout {
 public:
  /// `conv_threads`: ConvThreadNumber, a square from 1 to 32.
  static Result<DlhdlLayout> create(int conv_threads);

  /// Number of channels that are processed at once, and of values per transfer.
  int channels_at_once() const { return channels_; }
  int values_per_transfer() const { return values_; }
  /// Returns the number of elements in a buffer for a tensor {1, Z, X, Y}.
  size_t elements(const Shape& shape) const;
  /// Returns the offset, in elements, of channel `z` in row `x`, column `y`.
  int64_t offset(const Shape& shape, int z, int x, int y) const;

  /// kUnsupported for elements other than float32 ("single") and int8, kInvalidArgument for shapes
  /// that are not {1, Z, X, Y}.
  static Status check(const Shape& shape, ElementType type);
  /// Row-major float (Z, X, Y) -> a buffer of float32 or int8 (rounded to nearest and clamped),
  /// padding included. Errors: those of check().
  Status pack(const float* from, const Shape& shape, ElementType type, uint8_t* to) const;
  /// Reads a buffer back to row-major float; padding is skipped.
  Status unpack(const uint8_t* from, const Shape& shape, ElementType type, float* to) const;

 private:
  DlhdlLayout(int channels, int values) : channels_(channels), values_(values) {}
  int channels_, values_;
};

}  // namespace dvnn
