// SPDX-License-Identifier: Apache-2.0
#include "image/tensor_writer.h"

#include <cstring>

#include "image/resample.h"
#include "image/transpose.h"

namespace dvnn::image {

void TensorWriter::plan(const TensorDesc& tensor, const PictureSpec& picture,
                        const Geometry& geometry) {
  tensor_ = tensor;
  target_ = geometry.target;
  columns_ = geometry.columns();
  rows_ = geometry.rows();
  const Shape& s = tensor.shape;
  size_ = element_size(tensor.type);
  rule_ = ElementRule(tensor.type, s.c(), picture);
  for (int c = 0; c < s.c(); ++c) rule_.put(picture.pad_value[static_cast<size_t>(c)], c, pad_[c]);
  switch (tensor.layout) {  // at most 3 channels: chunked layouts are the plain ones
    case Layout::kNchw:
      stride_x_ = 1, stride_y_ = s.w(), stride_c_ = int64_t{s.h()} * s.w();
      break;
    case Layout::kNhwc:
    case Layout::kHwc8:
      stride_x_ = s.c(), stride_y_ = int64_t{s.w()} * s.c(), stride_c_ = 1;
      break;
    case Layout::kNwhc:
    case Layout::kWhc8:
      stride_x_ = int64_t{s.h()} * s.c(), stride_y_ = s.c(), stride_c_ = 1;
      break;
  }
  along_ = geometry.swap_xy ? stride_y_ : stride_x_;
  across_ = geometry.swap_xy ? stride_x_ : stride_y_;
  pixel_bytes_ = s.c() == 1 ? 1 : 4;
  pitch_ = static_cast<size_t>(columns_) * pixel_bytes_ + kRowPadding;
  pitch_ = pitch_ / kRunPadding * kRunPadding;
  levels_.assign(kBlockRows * pitch_ + kRunPadding, 0);
  columns_of_levels_.assign(kBlockRows * pitch_ + kRunPadding, 0);
}

// Where the level of a column and a row goes.
uint8_t* TensorWriter::at(uint8_t* out, int column, int row) const {
  const int64_t origin = target_.x * stride_x_ + target_.y * stride_y_;
  return out + (origin + column * along_ + row * across_) * static_cast<int64_t>(size_);
}

void TensorWriter::take(int y, uint8_t* out) {
  const auto element = static_cast<ptrdiff_t>(size_);
  Runs runs;
  runs.plane_stride = stride_c_ == 1 ? 0 : stride_c_ * element;
  const bool sideways = along_ > across_;
  if (!sideways) {
    runs.count = 1;
    runs.length = static_cast<size_t>(columns_);
    runs.pitch = runs.out_stride = 0;
    store_runs(row(y), runs, rule_, at(out, 0, y));
    return;
  }
  if (y % kBlockRows != kBlockRows - 1 && y != rows_ - 1) return;
  // Rows of an earlier block, if this one is not full, come to nothing.
  transpose(levels_.data(), pitch_ / pixel_bytes_, kBlockRows, static_cast<size_t>(columns_),
            pixel_bytes_, columns_of_levels_.data(), kBlockRows);
  runs.count = static_cast<size_t>(columns_);
  runs.length = static_cast<size_t>(y % kBlockRows + 1);
  runs.pitch = kBlockRows * pixel_bytes_;
  runs.out_stride = along_ * element;
  store_runs(columns_of_levels_.data(), runs, rule_, at(out, 0, y - y % kBlockRows));
}

void TensorWriter::fill_borders(uint8_t* out) const {
  const Shape& s = tensor_.shape;
  auto fill = [&](int x0, int x1, int y0, int y1) {
    for (int y = y0; y < y1; ++y) {
      for (int x = x0; x < x1; ++x) {
        for (int c = 0; c < s.c(); ++c) {
          const int64_t index = y * stride_y_ + x * stride_x_ + c * stride_c_;
          std::memcpy(out + index * static_cast<int64_t>(size_), pad_[c], size_);
        }
      }
    }
  };
  const Rect& t = target_;
  fill(0, s.w(), 0, t.y);
  fill(0, s.w(), t.y + t.h, s.h());
  fill(0, t.x, t.y, t.y + t.h);
  fill(t.x + t.w, s.w(), t.y, t.y + t.h);
}

}  // namespace dvnn::image
