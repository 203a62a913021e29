// SPDX-License-Identifier: Apache-2.0
#include "image/tensor_writer.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "base/nth.h"
#include "image/lanes.h"
#include "image/vectors.h"

namespace dvnn::image {

StridedTensor strided(const TensorDesc& tensor) {
  const Shape& s = tensor.shape;
  StridedTensor p = {tensor.type, s.w(), s.h(), s.c(), 0, 0, {}, s.count(), false};
  int64_t stride_c = 1;
  switch (tensor.layout) {  // with at most 3 channels, chunked layouts equal the plain ones
    case Layout::kNchw:
      p.stride_x = 1, p.stride_y = s.w(), stride_c = int64_t{s.h()} * s.w();
      break;
    case Layout::kNhwc:
    case Layout::kHwc8:
      p.stride_x = s.c(), p.stride_y = int64_t{s.w()} * s.c();
      break;
    case Layout::kNwhc:
    case Layout::kWhc8:
      p.stride_x = int64_t{s.h()} * s.c(), p.stride_y = s.c();
      break;
  }
  for (int c = 0; c < s.c(); ++c) p.channel[c] = c * stride_c;
  return p;
}

StridedTensor strided(const DlhdlLayout& layout, const Shape& shape, ElementType type) {
  const int64_t step = layout.values_per_transfer();
  StridedTensor p = {type, shape.w(), shape.h(), shape.c(), shape.h() * step, step, {}, 0, false};
  for (int c = 0; c < shape.c(); ++c) p.channel[c] = layout.offset(shape, c, 0, 0);
  p.elements = layout.elements(shape);
  p.has_gaps = p.elements > shape.count();
  return p;
}

void TensorWriter::prepare(const StridedTensor& tensor, const InputSpec& picture,
                           const Geometry& geometry) {
  tensor_ = tensor;
  target_ = geometry.target;
  columns_ = geometry.row_pixels();
  rows_ = geometry.rows();
  size_ = element_size(tensor_.type);
  rule_ = ElementRule(tensor_.type, tensor_.channels, picture);
  for (int c = 0; c < tensor_.channels; ++c) {
    rule_.put(nth(picture.pad_value, c), c, pad_[c]);
  }
  along_ = geometry.swap_xy ? tensor_.stride_y : tensor_.stride_x;
  across_ = geometry.swap_xy ? tensor_.stride_x : tensor_.stride_y;
  steps_.step = std::min(along_, across_);
  std::copy(std::begin(tensor_.channel), std::end(tensor_.channel), steps_.channel);
  pixel_bytes_ = tensor_.channels == 1 ? 1 : 4;
  pitch_ = columns_ * pixel_bytes_ + kRowPadding;
  pitch_ = pitch_ / kRunPadding * kRunPadding;
  levels_.assign((kUnitRows + kBlockRows) * pitch_ + kRunPadding, 0);
  turned_.assign(kBlockColumns * kBlockRows * pixel_bytes_ + kRunPadding, 0);
}

// Returns the address of the sample at a column and a row.
uint8_t* TensorWriter::at(uint8_t* out, int column, int row) const {
  const int64_t origin = target_.x * tensor_.stride_x + target_.y * tensor_.stride_y;
  return out + (origin + column * along_ + row * across_) * static_cast<int64_t>(size_);
}

void TensorWriter::store_row(int y, uint8_t* out) {
  Runs runs = {};
  runs.count = 1;
  runs.length = columns_;
  runs.pixels = steps_;
  store_runs(row(y), runs, rule_, at(out, 0, y));
}

// Stores `rows` rows of samples from row `y` on. Padding rows up to a whole unit are transposed but
// not stored.
void TensorWriter::store_columns(const uint8_t* levels, int y, int rows, uint8_t* out) {
  const size_t units = static_cast<size_t>((rows + kUnitRows - 1) / kUnitRows);
  Runs runs = {};
  runs.length = static_cast<size_t>(rows);
  runs.pitch = kBlockRows * pixel_bytes_;
  runs.out_stride = along_;
  runs.pixels = steps_;
  for (size_t x = 0; x < columns_; x += kBlockColumns) {
    runs.count = std::min(kBlockColumns, columns_ - x);
    transpose(levels + x * pixel_bytes_, pitch_ / pixel_bytes_, units * kUnitRows, runs.count,
              pixel_bytes_, turned_.data(), kBlockRows);
    store_runs(turned_.data(), runs, rule_, at(out, static_cast<int>(x), y));
  }
}

void TensorWriter::take(int y, uint8_t* out) {
  if (along_ <= across_) return store_row(y, out);
  const int rows = y % kBlockRows + 1;
  if (rows < kBlockRows && y != rows_ - 1) return;
  // The last block repeats some rows of the one before, to have whole units.
  const int again = y < kBlockRows ? 0 : (kUnitRows - rows % kUnitRows) % kUnitRows;
  const size_t bytes = static_cast<size_t>(again) * pitch_;
  uint8_t* first = row(0) - bytes;
  std::copy_n(row(kBlockRows - again), bytes, first);
  store_columns(first, y + 1 - rows - again, rows + again, out);
}

void TensorWriter::fill_borders(uint8_t* out) const {
  if (tensor_.has_gaps) std::memset(out, 0, tensor_.elements * size_);
  auto fill = [&](int x0, int x1, int y0, int y1) {
    for (int y = y0; y < y1; ++y) {
      for (int x = x0; x < x1; ++x) {
        for (int c = 0; c < tensor_.channels; ++c) {
          const int64_t index = y * tensor_.stride_y + x * tensor_.stride_x + tensor_.channel[c];
          std::memcpy(out + index * static_cast<int64_t>(size_), pad_[c], size_);
        }
      }
    }
  };
  const Rect& t = target_;
  fill(0, tensor_.width, 0, t.y);
  fill(0, tensor_.width, t.y + t.h, tensor_.height);
  fill(0, t.x, t.y, t.y + t.h);
  fill(t.x + t.w, tensor_.width, t.y, t.y + t.h);
}

}  // namespace dvnn::image
