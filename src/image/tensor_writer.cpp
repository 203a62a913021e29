// SPDX-License-Identifier: Apache-2.0
#include "image/tensor_writer.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "image/transpose.h"
#include "tensor/half.h"

namespace dvnn::image {
namespace {

// One level as an element, as elements.h defines it; to a buffer of 4 bytes.
void put_element(int level, const ElementRule& rule, size_t channel, uint8_t* to) {
  const float value = (static_cast<float>(level) - rule.mean[channel]) * rule.scale[channel];
  const float steps = value * rule.steps + rule.zero_point;
  switch (rule.type) {
    case ElementType::kFloat16: {
      const half_t half = float_to_half(value);
      std::memcpy(to, &half, sizeof half);
      break;
    }
    case ElementType::kFloat32:
      std::memcpy(to, &value, sizeof value);
      break;
    case ElementType::kUint8:
      *to = static_cast<uint8_t>(std::lrint(std::clamp(steps, 0.0f, 255.0f)));
      break;
    case ElementType::kInt8:
      *to = static_cast<uint8_t>(std::lrint(std::clamp(steps, -128.0f, 127.0f)));
      break;
  }
}

}  // namespace

void TensorWriter::plan(const TensorDesc& tensor, const PictureSpec& picture,
                        const Geometry& geometry) {
  tensor_ = tensor;
  target_ = geometry.target;
  columns_ = geometry.columns();
  rows_ = geometry.rows();
  const Shape& s = tensor.shape;
  channels_ = s.c();
  size_ = element_size(tensor.type);
  bgr_ = picture.order == ChannelOrder::kBgr;
  rule_.type = tensor.type;
  rule_.steps = 1.0f / picture.quant_scale;
  rule_.zero_point = static_cast<float>(picture.zero_point);
  for (size_t i = 0; i < 3; ++i) {
    const size_t c = channels_ == 1 ? 0 : bgr_ ? 2 - i : i;
    rule_.mean[i] = picture.mean[c];
    rule_.scale[i] = picture.scale[c];
    put_element(picture.pad_value[c], rule_, i, pad_[c]);
  }
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
  // Whole cache lines, but no power of two of them, which would share few places in a cache.
  pitch_ = (static_cast<size_t>(columns_) + kElementPadding) / kElementPadding * kElementPadding;
  elements_.assign(pitch_ * static_cast<size_t>(kBlockRows * channels_) * size_, 0);
}

// Where the sample of a column and a row goes.
uint8_t* TensorWriter::at(uint8_t* out, int column, int row, int channel) const {
  const int64_t origin = target_.x * stride_x_ + target_.y * stride_y_;
  return out + (origin + column * along_ + row * across_ + channel * stride_c_) *
                   static_cast<int64_t>(size_);
}

void TensorWriter::make_elements(const SampleRow& row, uint8_t* const planes[3]) {
  const size_t pixels = static_cast<size_t>(columns_);
  if (channels_ == 1) {
    gray_elements(row, rule_, pixels, planes[0]);
    return;
  }
  void* const out[3] = {planes[bgr_ ? 2 : 0], planes[1], planes[bgr_ ? 0 : 2]};
  colour_elements(row, rule_, pixels, out);
}

void TensorWriter::write(const SampleRow& row, int y, uint8_t* out) {
  const bool sideways = along_ > across_;
  const int in_block = sideways ? y % kBlockRows : 0;
  uint8_t* planes[3] = {};
  for (int c = 0; c < channels_; ++c) planes[c] = element_row(in_block, c);
  make_elements(row, planes);
  if (sideways) {
    if (in_block == kBlockRows - 1 || y == rows_ - 1) store_block(y - in_block, in_block + 1, out);
    return;
  }
  const size_t pixels = static_cast<size_t>(columns_);
  if (stride_c_ == 1 && channels_ == 3) {
    const void* const rows[3] = {planes[0], planes[1], planes[2]};
    interleave(rows, pixels, size_, at(out, 0, y, 0));
    return;
  }
  for (int c = 0; c < channels_; ++c) std::memcpy(at(out, 0, y, c), planes[c], pixels * size_);
}

void TensorWriter::store_block(int y0, int rows, uint8_t* out) const {
  const size_t columns = static_cast<size_t>(columns_), count = static_cast<size_t>(rows);
  const auto stride = static_cast<ptrdiff_t>(along_);
  if (stride_c_ == 1) {
    transpose(elements_.data(), pitch_, count * static_cast<size_t>(channels_), columns, size_,
              at(out, 0, y0, 0), stride);
    return;
  }
  const size_t channels = static_cast<size_t>(channels_);
  for (int c = 0; c < channels_; ++c) {
    transpose(elements_.data() + static_cast<size_t>(c) * pitch_ * size_, pitch_ * channels, count,
              columns, size_, at(out, 0, y0, c), stride);
  }
}

void TensorWriter::fill_borders(uint8_t* out) const {
  const Shape& s = tensor_.shape;
  auto fill = [&](int x0, int x1, int y0, int y1) {
    for (int y = y0; y < y1; ++y) {
      for (int x = x0; x < x1; ++x) {
        for (int c = 0; c < channels_; ++c) {
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
