// SPDX-License-Identifier: Apache-2.0
#include "image/tensor_writer.h"

#include <cstring>

#include "image/kernels.h"
#include "tensor/half.h"

namespace dvnn::image {

void TensorWriter::plan(const TensorDesc& tensor, const PictureSpec& picture, const Rect& target) {
  tensor_ = tensor;
  picture_ = picture;
  target_ = target;
  const Shape& s = tensor.shape;
  channels_ = s.c();
  lanes_ = channels_ == 1 ? 1 : 4;
  pitch_ = static_cast<size_t>(target.w) * lanes_ + kRowPadding;
  levels_.assign(static_cast<size_t>(kBlockRows) * pitch_, 0);
  elements_.assign(static_cast<size_t>(kBlockRows) * pitch_, 0);
  for (size_t i = 0; i < 4; ++i) {
    const size_t c = channels_ == 1 ? 0 : i < 3 ? i : 2;
    mean_[i] = picture.mean[c];
    scale_[i] = picture.scale[c];
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
}

void TensorWriter::normalise(int r) {
  const size_t count = static_cast<size_t>(target_.w) * lanes_;
  const int16_t* from = levels(r);
  const size_t start = static_cast<size_t>(r) * pitch_;
  switch (tensor_.type) {
    case ElementType::kFloat16:
      normalise_half(from, mean_, scale_, count,
                     reinterpret_cast<uint16_t*>(elements_.data()) + start);
      break;
    case ElementType::kFloat32:
      normalise_float(from, mean_, scale_, count,
                      reinterpret_cast<float*>(elements_.data()) + start);
      break;
    case ElementType::kUint8:
    case ElementType::kInt8: {
      auto* to = reinterpret_cast<uint8_t*>(elements_.data()) + start;
      for (size_t i = 0; i < count; ++i) to[i] = static_cast<uint8_t>(from[i]);
      break;
    }
  }
}

// Three channels side by side: four lanes are copied at a time where the next pixel, which is
// written later, takes the fourth.
template <typename T>
void TensorWriter::store_pixels(int rows, T* origin) const {
  auto put = [](const T* from, T* to) { std::memcpy(to, from, 4 * sizeof(T)); };
  auto put_last = [](const T* from, T* to) { std::memcpy(to, from, 3 * sizeof(T)); };
  if (stride_x_ > stride_y_) {  // x-major: walk down the columns, as the tensor lies
    const size_t pitch = pitch_;
    for (int x = 0; x < target_.w; ++x) {
      const T* from = elements<T>(0) + 4 * x;
      T* to = origin + x * stride_x_;
      for (int r = 0; r + 1 < rows; ++r, from += pitch, to += 3) put(from, to);
      put_last(from, to);
    }
    return;
  }
  for (int r = 0; r < rows; ++r) {
    const T* from = elements<T>(r);
    T* to = origin + r * stride_y_;
    for (int x = 0; x + 1 < target_.w; ++x, from += 4, to += 3) put(from, to);
    put_last(from, to);
  }
}

template <typename T>
void TensorWriter::store(int y0, int rows, T* out) const {
  T* origin = out + (target_.y + y0) * stride_y_ + target_.x * stride_x_;
  if (channels_ == 3 && stride_c_ == 1) {
    store_pixels(rows, origin);
    return;
  }
  for (int c = 0; c < channels_; ++c) {
    if (stride_x_ > stride_y_) {
      for (int x = 0; x < target_.w; ++x) {
        for (int r = 0; r < rows; ++r) origin[x * stride_x_ + r * stride_y_] = elements<T>(r)[x];
      }
      continue;
    }
    for (int r = 0; r < rows; ++r) {
      const T* from = elements<T>(r) + c;
      T* to = origin + r * stride_y_ + c * stride_c_;
      for (int x = 0; x < target_.w; ++x) to[x] = from[static_cast<size_t>(x) * lanes_];
    }
  }
}

void TensorWriter::write(int y0, int rows, uint8_t* out) {
  for (int r = 0; r < rows; ++r) normalise(r);
  switch (element_size(tensor_.type)) {
    case 1:
      store(y0, rows, out);
      break;
    case 2:
      store(y0, rows, reinterpret_cast<uint16_t*>(out));
      break;
    default:
      store(y0, rows, reinterpret_cast<uint32_t*>(out));
      break;
  }
}

void TensorWriter::fill_borders(uint8_t* out) const {
  const Shape& s = tensor_.shape;
  auto fill = [&](int x0, int x1, int y0, int y1) {
    for (int y = y0; y < y1; ++y) {
      for (int x = x0; x < x1; ++x) {
        for (int c = 0; c < channels_; ++c) {
          const size_t k = static_cast<size_t>(c);
          const int64_t at = y * stride_y_ + x * stride_x_ + c * stride_c_;
          const uint8_t level = picture_.pad_value[k];
          const float value = (static_cast<float>(level) - mean_[k]) * scale_[k];
          if (tensor_.type == ElementType::kFloat16) {
            reinterpret_cast<half_t*>(out)[at] = float_to_half(value);
          } else if (tensor_.type == ElementType::kFloat32) {
            reinterpret_cast<float*>(out)[at] = value;
          } else {
            out[at] = level;
          }
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
