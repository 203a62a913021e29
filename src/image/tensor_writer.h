// SPDX-License-Identifier: Apache-2.0
// Rows of samples -> the tensor: colour-converted, normalised, rounded, in its layout.
#pragma once

#include <cstdint>
#include <vector>

#include "base/aligned.h"
#include "image/elements.h"
#include "image/geometry.h"
#include "tensor/picture.h"
#include "tensor/tensor.h"

namespace dvnn::image {

class TensorWriter {
 public:
  /// The target of `geometry` is the part of the tensor that rows cover. Rows are those of the
  /// source: where the picture is turned, they lie along the tensor's columns.
  void plan(const TensorDesc& tensor, const PictureSpec& picture, const Geometry& geometry);
  /// Takes row `y`, the next one. The last row of a tensor completes it.
  void write(const SampleRow& row, int y, uint8_t* out);
  /// Fills what the target does not cover with the padding colour.
  void fill_borders(uint8_t* out) const;

 private:
  // Rows that are written together where a row of samples is a column in memory: longer runs.
  static constexpr int kBlockRows = 8;

  void make_elements(const SampleRow& row, uint8_t* const planes[3]);
  void store_block(int y0, int rows, uint8_t* out) const;
  uint8_t* at(uint8_t* out, int column, int row, int channel) const;
  uint8_t* element_row(int row, int channel) {
    return &elements_[static_cast<size_t>(row * channels_ + channel) * pitch_ * size_];
  }

  TensorDesc tensor_;
  Rect target_;
  int columns_ = 0, rows_ = 0, channels_ = 3;
  size_t size_ = 2;                                     // of an element, bytes
  int64_t stride_x_ = 0, stride_y_ = 0, stride_c_ = 0;  // of the tensor, elements
  // From column to column and row to row of samples: stride_x_ and stride_y_, or swapped.
  int64_t along_ = 0, across_ = 0;
  size_t pitch_ = 0;            // of rows of elements
  bool bgr_ = false;            // the tensor's first channel is blue
  ElementRule rule_;            // of red, green, blue
  uint8_t pad_[3][4] = {};      // elements of the padding colour, in the tensor's order
  AlignedVector<uint8_t> elements_;
};

}  // namespace dvnn::image
