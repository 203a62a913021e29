// SPDX-License-Identifier: Apache-2.0
#include "image/formats.h"

#include <algorithm>
#include <cstring>

namespace dvnn::image {
namespace {

constexpr FormatInfo packed_rgb(int step, int r, int g, int b) {
  return {false, 3, {{0, r, step, 1, 1}, {0, g, step, 1, 1}, {0, b, step, 1, 1}}};
}

// r, g and b are the indices of the fields, counted from the top.
constexpr FormatInfo packed_565(int r, int g, int b) {
  FormatInfo info = packed_rgb(kExpandedBytes, r, g, b);
  info.is_565 = true;
  return info;
}

// Chroma in a second plane, with U and V interleaved.
constexpr FormatInfo semi_planar(int u, int v, int sub_y) {
  return {true, 3, {{0, 0, 1, 1, 1}, {1, u, 2, 2, sub_y}, {1, v, 2, 2, sub_y}}};
}

constexpr FormatInfo semi_planar_444() {
  return {true, 3, {{0, 0, 1, 1, 1}, {1, 0, 2, 1, 1}, {1, 1, 2, 1, 1}}};
}

constexpr FormatInfo planar(int u, int v, int sub_x, int sub_y) {
  return {true, 3, {{0, 0, 1, 1, 1}, {u, 0, 1, sub_x, sub_y}, {v, 0, 1, sub_x, sub_y}}};
}

constexpr FormatInfo packed_yuv(int y, int u, int v) {
  return {true, 3, {{0, y, 2, 1, 1}, {0, u, 4, 2, 1}, {0, v, 4, 2, 1}}};
}

constexpr FormatInfo packed_yuv_444(int y, int u, int v) {
  return {true, 3, {{0, y, 4, 1, 1}, {0, u, 4, 1, 1}, {0, v, 4, 1, 1}}};
}

constexpr FormatInfo gray() {
  return {false, 1, {{0, 0, 1, 1, 1}, {}, {}}};
}

// Uses the upper byte of each sample, which is precise enough for networks.
constexpr FormatInfo gray_16() {
  return {false, 1, {{0, 1, 2, 1, 1}, {}, {}}};
}

// 10 bits in the upper bits of 16.
constexpr FormatInfo semi_planar_10() {
  return {true, 3, {{0, 0, 2, 1, 1, 10, 6}, {1, 0, 4, 2, 2, 10, 6}, {1, 2, 4, 2, 2, 10, 6}}};
}

// 10 bits in the lower bits of 16.
constexpr FormatInfo planar_10() {
  return {true, 3, {{0, 0, 2, 1, 1, 10}, {1, 0, 2, 2, 2, 10}, {2, 0, 2, 2, 2, 10}}};
}

#define DVNN_INFO(enumerator, name, code, info) info,
#define DVNN_NOTHING(...)
constexpr FormatInfo kFormats[] = {DVNN_PIXEL_FORMATS(DVNN_INFO, DVNN_INFO, DVNN_NOTHING)};
#undef DVNN_NOTHING
#undef DVNN_INFO

}  // namespace

const FormatInfo& format_info(PixelFormat format) {
  return kFormats[static_cast<int>(format)];
}

int row_bytes(const FormatInfo& info, int plane, int width) {
  int bytes = 0;
  for (int i = 0; i < info.components; ++i) {
    const Component& c = info.component[i];
    const int samples = (width + c.sub_x - 1) / c.sub_x;
    if (c.plane == plane)
      bytes = std::max(bytes, c.first + (samples - 1) * c.step + c.sample_bytes());
  }
  return bytes;
}

void expand_565(const uint8_t* pixels, size_t count, uint8_t* out) {
  for (size_t i = 0; i < count; ++i) {
    uint16_t pixel;
    std::memcpy(&pixel, pixels + i * sizeof(pixel), sizeof(pixel));
    const uint32_t bytes = uint32_t{k565[0].widen(pixel)} | uint32_t{k565[1].widen(pixel)} << 8 |
                           uint32_t{k565[2].widen(pixel)} << 16;
    std::memcpy(out + i * sizeof(bytes), &bytes, sizeof(bytes));
  }
}

void ExpandedRows::prepare(int width, int first, int end) {
  first_ = first;
  end_ = end;
  for (Row& row : rows_) row.bytes.resize(static_cast<size_t>(width) * kExpandedBytes);
  forget();
}

void ExpandedRows::forget() {
  for (Row& row : rows_) row.y = -1;
}

const uint8_t* ExpandedRows::row(const uint8_t* plane, ptrdiff_t stride, int y) {
  if (rows_[latest_].y != y) latest_ = 1 - latest_;
  Row& row = rows_[latest_];
  if (row.y != y) {
    row.y = y;
    expand_565(plane + y * stride + ptrdiff_t{first_} * k565Bytes,
               static_cast<size_t>(end_ - first_),
               row.bytes.data() + ptrdiff_t{first_} * kExpandedBytes);
  }
  return row.bytes.data();
}

}  // namespace dvnn::image
