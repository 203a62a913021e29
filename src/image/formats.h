// SPDX-License-Identifier: Apache-2.0
// Describes how the pixel formats lie in memory: for each component, its plane, first byte and
// step.
#pragma once

#include <cstddef>
#include <cstdint>

#include "image/converter.h"

namespace dvnn::image {

struct Component {
  int plane = 0;
  int first = 0;             // bytes from the row's start
  int step = 1;              // bytes from sample to sample
  int sub_x = 1, sub_y = 1;  // subsampling
  int bits = 8;              // of a sample; 10: in 2 bytes, little-endian
  int shift = 0;             // right, to bring a sample to the bottom of its bytes

  int sample_bytes() const { return bits > 8 ? 2 : 1; }
};

struct FormatInfo {
  bool yuv = false;
  int components = 3;  // R, G, B or Y, U, V; 1 for gray
  Component component[3];
  // Pixels are fields of 16 bits, little-endian. `component` says where these are once
  // expand_565() has made bytes of them.
  bool is_565 = false;
};

const FormatInfo& format_info(PixelFormat format);

/// Some bits of a pixel of 16.
struct Field {
  int bits, shift;

  uint32_t mask() const { return ((1u << bits) - 1) << shift; }
  /// The field as 8 bits. Its upper bits are repeated below it, so that 0 becomes 0 and the largest
  /// value 255, as GStreamer's videoconvert does it.
  constexpr uint8_t widen(uint16_t pixel) const {
    const unsigned value = pixel >> shift & ((1u << bits) - 1);
    return static_cast<uint8_t>(value << (8 - bits) | value >> (2 * bits - 8));
  }
};

/// The fields of a pixel of 5, 6 and 5 bits, from the top.
constexpr Field k565[3] = {{5, 11}, {6, 5}, {5, 0}};
/// Bytes of such a pixel, in a frame and expanded.
constexpr int k565Bytes = 2, kExpandedBytes = 4;

/// Makes pixels of four bytes: the fields of k565 in their order, and 0.
void expand_565(const uint8_t* pixels, size_t count, uint8_t* out);

/// Bytes of a row of `plane` that hold samples, for frames of `width` pixels; once expanded, where
/// pixels are.
int row_bytes(const FormatInfo& info, int plane, int width);

}  // namespace dvnn::image
