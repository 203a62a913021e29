// SPDX-License-Identifier: Apache-2.0
#include "image/formats.h"

namespace dvnn::image {
namespace {

constexpr FormatInfo packed_rgb(int step, int r, int g, int b) {
  return {false, 3, {{0, r, step, 1, 1}, {0, g, step, 1, 1}, {0, b, step, 1, 1}}};
}

// In the order of PixelFormat.
constexpr FormatInfo kFormats[] = {
    {true, 3, {{0, 0, 1, 1, 1}, {1, 0, 2, 2, 2}, {1, 1, 2, 2, 2}}},  // NV12
    {true, 3, {{0, 0, 1, 1, 1}, {1, 0, 1, 2, 2}, {2, 0, 1, 2, 2}}},  // I420
    {true, 3, {{0, 0, 2, 1, 1}, {0, 1, 4, 2, 1}, {0, 3, 4, 2, 1}}},  // YUY2
    packed_rgb(3, 0, 1, 2),                                          // RGB
    packed_rgb(3, 2, 1, 0),                                          // BGR
    packed_rgb(4, 0, 1, 2),                                          // RGBx
    packed_rgb(4, 2, 1, 0),                                          // BGRx
    packed_rgb(4, 1, 2, 3),                                          // xRGB
    packed_rgb(4, 3, 2, 1),                                          // xBGR
    {false, 1, {{0, 0, 1, 1, 1}, {}, {}}},                           // GRAY8
};

}  // namespace

const FormatInfo& format_info(PixelFormat format) {
  return kFormats[static_cast<int>(format)];
}

}  // namespace dvnn::image
