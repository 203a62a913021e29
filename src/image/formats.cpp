// SPDX-License-Identifier: Apache-2.0
#include "image/formats.h"

#include <algorithm>

namespace dvnn::image {
namespace {

constexpr FormatInfo packed_rgb(int step, int r, int g, int b) {
  return {false, 3, {{0, r, step, 1, 1}, {0, g, step, 1, 1}, {0, b, step, 1, 1}}};
}

// Chroma in a plane of its own, U and V side by side.
constexpr FormatInfo semi_planar(int u, int v, int sub_y) {
  return {true, 3, {{0, 0, 1, 1, 1}, {1, u, 2, 2, sub_y}, {1, v, 2, 2, sub_y}}};
}

constexpr FormatInfo planar(int u, int v) {
  return {true, 3, {{0, 0, 1, 1, 1}, {u, 0, 1, 2, 2}, {v, 0, 1, 2, 2}}};
}

constexpr FormatInfo packed_yuv(int y, int u, int v) {
  return {true, 3, {{0, y, 2, 1, 1}, {0, u, 4, 2, 1}, {0, v, 4, 2, 1}}};
}

// In the order of PixelFormat.
constexpr FormatInfo kFormats[] = {
    semi_planar(0, 1, 2),                   // NV12
    semi_planar(1, 0, 2),                   // NV21
    semi_planar(0, 1, 1),                   // NV16
    planar(1, 2),                           // I420
    planar(2, 1),                           // YV12
    packed_yuv(0, 1, 3),                    // YUY2
    packed_yuv(1, 0, 2),                    // UYVY
    packed_rgb(3, 0, 1, 2),                 // RGB
    packed_rgb(3, 2, 1, 0),                 // BGR
    packed_rgb(4, 0, 1, 2),                 // RGBx
    packed_rgb(4, 2, 1, 0),                 // BGRx
    packed_rgb(4, 1, 2, 3),                 // xRGB
    packed_rgb(4, 3, 2, 1),                 // xBGR
    {false, 1, {{0, 0, 1, 1, 1}, {}, {}}},  // GRAY8
    // P010_10LE: 10 bits at the top of 16. I420_10LE: at the bottom.
    {true, 3, {{0, 0, 2, 1, 1, 10, 6}, {1, 0, 4, 2, 2, 10, 6}, {1, 2, 4, 2, 2, 10, 6}}},
    {true, 3, {{0, 0, 2, 1, 1, 10}, {1, 0, 2, 2, 2, 10}, {2, 0, 2, 2, 2, 10}}},
};

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

}  // namespace dvnn::image
