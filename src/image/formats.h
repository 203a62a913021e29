// SPDX-License-Identifier: Apache-2.0
// Describes how the pixel formats lie in memory: for each component, its plane, first byte and
// step.
#pragma once

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
};

const FormatInfo& format_info(PixelFormat format);

/// Bytes of a row of `plane` that hold samples, for frames of `width` pixels.
int row_bytes(const FormatInfo& info, int plane, int width);

}  // namespace dvnn::image
