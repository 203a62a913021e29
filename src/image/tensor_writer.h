// SPDX-License-Identifier: Apache-2.0
// Writes rows of u8 samples into the tensor: normalised, rounded, in its layout.
#pragma once

#include <cstdint>

#include "base/aligned.h"
#include "image/elements.h"
#include "image/geometry.h"
#include "tensor/dlhdl.h"
#include "tensor/input_spec.h"
#include "tensor/tensor.h"

namespace dvnn::image {

/// A tensor whose elements lie at regular distances: channel c of pixel (x, y) is at x * stride_x +
/// y * stride_y + channel[c].
struct StridedTensor {
  ElementType type = ElementType::kFloat16;
  int width = 0, height = 0, channels = 3;
  int64_t stride_x = 0, stride_y = 0;
  int64_t channel[3] = {};
  size_t elements = 0;    // of the buffer
  bool has_gaps = false;  // some of them are no pixel's, and zero
};
StridedTensor strided(const TensorDesc& tensor);
StridedTensor strided(const DlhdlLayout& layout, const Shape& shape, ElementType type);

class TensorWriter {
 public:
  /// The target of `geometry` is the part of the tensor that rows cover. Rows are those of the
  /// source: where the picture is turned, they lie along the tensor's columns.
  void prepare(const StridedTensor& tensor, const InputSpec& picture, const Geometry& geometry);
  /// The buffer for row `y`: pixels or, if the tensor has one channel, gray bytes (see colour.h).
  uint8_t* row(int y) { return &levels_[static_cast<size_t>(kUnitRows + y % kBlockRows) * pitch_]; }
  /// Takes row `y`, the next one. The last one completes the target.
  void take(int y, uint8_t* out);
  /// Fills what the target does not cover with the padding colour, and gaps with zeros; comes
  /// before the first row.
  void fill_borders(uint8_t* out) const;

 private:
  // Rows that are stored together if a row of samples is a column in memory, so that runs are
  // longer.
  static constexpr int kBlockRows = 32, kUnitRows = 16;
  // Columns that are transposed at a time; they fit the first-level cache.
  static constexpr size_t kBlockColumns = 64;

  uint8_t* at(uint8_t* out, int column, int row) const;
  void store_row(int y, uint8_t* out);
  void store_columns(const uint8_t* levels, int y, int rows, uint8_t* out);

  StridedTensor tensor_;
  Rect target_;
  size_t columns_ = 0;
  int rows_ = 0;
  size_t size_ = 2;  // of an element, bytes
  // Steps from column to column and from row to row of samples: the strides of x and y, or swapped.
  int64_t along_ = 0, across_ = 0;
  PixelSteps steps_;  // along a run: the smaller stride
  ElementRule rule_;
  uint8_t pad_[3][4] = {};         // the padding colour's elements
  size_t pixel_bytes_ = 4;         // bytes of a pixel in a row of samples
  size_t pitch_ = 0;               // bytes of such a row
  AlignedVector<uint8_t> levels_;  // a block of rows, and room for a unit before it
  AlignedVector<uint8_t> turned_;  // some columns of it, column by column
};

}  // namespace dvnn::image
