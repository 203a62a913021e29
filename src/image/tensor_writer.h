// SPDX-License-Identifier: Apache-2.0
// Rows of levels 0..255 -> the tensor: normalised, rounded, in its layout.
#pragma once

#include <cstdint>
#include <vector>

#include "image/geometry.h"
#include "tensor/picture.h"
#include "tensor/tensor.h"

namespace dvnn::image {

class TensorWriter {
 public:
  /// Rows that are written together: x-major tensors get longer runs.
  static constexpr int kBlockRows = 16;

  /// `target` is the part of the tensor that rows cover.
  void plan(const TensorDesc& tensor, const PictureSpec& picture, const Rect& target);
  /// Levels of row `r` of a block, to be filled: four per pixel (the channels and one unused), one
  /// where the tensor has one channel.
  int16_t* levels(int r) { return levels_.data() + static_cast<size_t>(r) * pitch_; }
  /// Writes rows y0..y0+rows-1 of the target from the block.
  void write(int y0, int rows, uint8_t* out);
  /// Fills what the target does not cover with the padding colour.
  void fill_borders(uint8_t* out) const;

 private:
  template <typename T>
  void store(int y0, int rows, T* out) const;
  template <typename T>
  void store_pixels(int rows, T* origin) const;
  template <typename T>
  const T* elements(int r) const {
    return reinterpret_cast<const T*>(elements_.data()) + static_cast<size_t>(r) * pitch_;
  }
  void normalise(int r);

  TensorDesc tensor_;
  PictureSpec picture_;
  Rect target_;
  int channels_ = 3;
  size_t lanes_ = 4;                                    // per pixel
  size_t pitch_ = 0;                                    // lanes from row to row
  int64_t stride_x_ = 0, stride_y_ = 0, stride_c_ = 0;  // of the tensor, elements
  float mean_[4] = {}, scale_[4] = {};
  std::vector<int16_t> levels_;
  std::vector<uint32_t> elements_;  // of the tensor's type
};

}  // namespace dvnn::image
