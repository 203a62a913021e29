// SPDX-License-Identifier: Apache-2.0
// Describes the pixel formats in memory: each component's plane, first byte and step. Rows of
// 16-bit pixels are expanded, so that every sample has bytes of its own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/aligned.h"
#include "image/converter.h"

namespace dvnn::image {

struct Component {
  int plane = 0;
  int first = 0;             // bytes from the row's start
  int step = 1;              // bytes from sample to sample
  int sub_x = 1, sub_y = 1;  // subsampling
  int bits = 8;              // of a sample; 10: in 2 bytes, little-endian
  int shift = 0;             // right shift that moves a sample to the lowest bits

  int sample_bytes() const { return bits > 8 ? 2 : 1; }
};

struct FormatInfo {
  bool yuv = false;
  int components = 3;  // R, G, B or Y, U, V; 1 for gray
  Component component[3];
  // Pixels are little-endian fields of 16 bits. `component` describes the bytes that expand_565()
  // makes of them.
  bool is_565 = false;
};

const FormatInfo& format_info(PixelFormat format);

/// A bit field of a 16-bit pixel.
struct Field {
  int bits, shift;

  uint32_t mask() const { return ((1u << bits) - 1) << shift; }
  /// Returns the field as 8 bits. Its upper bits are repeated below it, so that 0 stays 0 and the
  /// largest value becomes 255, as in GStreamer's videoconvert.
  constexpr uint8_t widen(uint16_t pixel) const {
    const unsigned value = pixel >> shift & ((1u << bits) - 1);
    return static_cast<uint8_t>(value << (8 - bits) | value >> (2 * bits - 8));
  }
};

/// The fields of a pixel with 5, 6 and 5 bits, from the top.
constexpr Field k565[3] = {{5, 11}, {6, 5}, {5, 0}};
/// Size of such a pixel in a frame, and expanded, in bytes.
constexpr int k565Bytes = 2, kExpandedBytes = 4;

/// Expands pixels to four bytes: the fields of k565 in their order, and 0.
void expand_565(const uint8_t* pixels, size_t count, uint8_t* out);

/// Returns the bytes of a row of `plane` that hold samples, for frames of `width` pixels, after
/// expand_565() if the format needs it.
int row_bytes(const FormatInfo& info, int plane, int width);

/// The two most recently used rows of 16-bit pixels, expanded. Resampling reads two rows at once,
/// and each of them repeatedly when it enlarges.
class ExpandedRows {
 public:
  /// `width`: pixels of a row, of which those from `first` to before `end` are needed.
  void prepare(int width, int first, int end);
  bool is_used() const { return !rows_[0].bytes.empty(); }
  /// Call before another frame.
  void forget();
  /// Returns row `y` of the plane as expand_565() makes it; valid until two other rows were
  /// requested.
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

/// A plane of a frame. `expanded` is null if samples are bytes already.
struct PlaneRows {
  const uint8_t* first = nullptr;
  ptrdiff_t stride = 0;
  ExpandedRows* expanded = nullptr;

  const uint8_t* row(int y) const {
    return expanded ? expanded->row(first, stride, y) : first + y * stride;
  }
};

}  // namespace dvnn::image
