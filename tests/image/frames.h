// SPDX-License-Identifier: Apache-2.0
// Random frames of every format, and where a component of a pixel lies in them.
#pragma once

#include <algorithm>
#include <iterator>
#include <random>
#include <vector>

#include "image/converter.h"

namespace frames {

using dvnn::image::FrameFormat;
using dvnn::image::FrameView;
using dvnn::image::PixelFormat;

/// The place of a component.
struct Place {
  int plane = 0, first = 0, step = 1, sub_x = 1, sub_y = 1;
  // Bits of two bytes, by GStreamer's table; 0: a whole sample.
  int bits = 0, shift = 0;
};

/// A format by its definition (GStreamer's video-format documentation), independent of the
/// converter's table.
struct Format {
  PixelFormat format;
  bool yuv;
  int bits;        // of a sample; 10: in two bytes
  bool at_top;     // whether they are the upper ones of the two bytes
  Place place[3];  // Y, U, V or R, G, B
};
constexpr Format kFormats[] = {
    {PixelFormat::kNv12, true, 8, false, {{}, {1, 0, 2, 2, 2}, {1, 1, 2, 2, 2}}},
    {PixelFormat::kNv21, true, 8, false, {{}, {1, 1, 2, 2, 2}, {1, 0, 2, 2, 2}}},
    {PixelFormat::kNv16, true, 8, false, {{}, {1, 0, 2, 2, 1}, {1, 1, 2, 2, 1}}},
    {PixelFormat::kNv24, true, 8, false, {{}, {1, 0, 2, 1, 1}, {1, 1, 2, 1, 1}}},
    {PixelFormat::kY42b, true, 8, false, {{}, {1, 0, 1, 2, 1}, {2, 0, 1, 2, 1}}},
    {PixelFormat::kY444, true, 8, false, {{}, {1, 0, 1, 1, 1}, {2, 0, 1, 1, 1}}},
    {PixelFormat::kYvyu, true, 8, false, {{0, 0, 2, 1, 1}, {0, 3, 4, 2, 1}, {0, 1, 4, 2, 1}}},
    {PixelFormat::kAyuv, true, 8, false, {{0, 1, 4, 1, 1}, {0, 2, 4, 1, 1}, {0, 3, 4, 1, 1}}},
    {PixelFormat::kI420, true, 8, false, {{}, {1, 0, 1, 2, 2}, {2, 0, 1, 2, 2}}},
    {PixelFormat::kYv12, true, 8, false, {{}, {2, 0, 1, 2, 2}, {1, 0, 1, 2, 2}}},
    {PixelFormat::kYuy2, true, 8, false, {{0, 0, 2, 1, 1}, {0, 1, 4, 2, 1}, {0, 3, 4, 2, 1}}},
    {PixelFormat::kUyvy, true, 8, false, {{0, 1, 2, 1, 1}, {0, 0, 4, 2, 1}, {0, 2, 4, 2, 1}}},
    {PixelFormat::kP010, true, 10, true, {{0, 0, 2, 1, 1}, {1, 0, 4, 2, 2}, {1, 2, 4, 2, 2}}},
    {PixelFormat::kI42010, true, 10, false, {{0, 0, 2, 1, 1}, {1, 0, 2, 2, 2}, {2, 0, 2, 2, 2}}},
    {PixelFormat::kRgb, false, 8, false, {{0, 0, 3, 1, 1}, {0, 1, 3, 1, 1}, {0, 2, 3, 1, 1}}},
    {PixelFormat::kBgr, false, 8, false, {{0, 2, 3, 1, 1}, {0, 1, 3, 1, 1}, {0, 0, 3, 1, 1}}},
    {PixelFormat::kRgbx, false, 8, false, {{0, 0, 4, 1, 1}, {0, 1, 4, 1, 1}, {0, 2, 4, 1, 1}}},
    {PixelFormat::kBgrx, false, 8, false, {{0, 2, 4, 1, 1}, {0, 1, 4, 1, 1}, {0, 0, 4, 1, 1}}},
    {PixelFormat::kXrgb, false, 8, false, {{0, 1, 4, 1, 1}, {0, 2, 4, 1, 1}, {0, 3, 4, 1, 1}}},
    {PixelFormat::kXbgr, false, 8, false, {{0, 3, 4, 1, 1}, {0, 2, 4, 1, 1}, {0, 1, 4, 1, 1}}},
    {PixelFormat::kRgb16,
     false,
     8,
     false,
     {{0, 0, 2, 1, 1, 5, 11}, {0, 0, 2, 1, 1, 6, 5}, {0, 0, 2, 1, 1, 5, 0}}},
    {PixelFormat::kBgr16,
     false,
     8,
     false,
     {{0, 0, 2, 1, 1, 5, 0}, {0, 0, 2, 1, 1, 6, 5}, {0, 0, 2, 1, 1, 5, 11}}},
    {PixelFormat::kGray8, false, 8, false, {{}, {}, {}}},
    {PixelFormat::kGray16, false, 8, false, {{0, 1, 2, 1, 1}, {}, {}}},
};

// Has a row for every format of the converter.
#define DVNN_COUNT(...) +1
#define DVNN_NOTHING(...)
static_assert(std::size(kFormats) == DVNN_PIXEL_FORMATS(DVNN_COUNT, DVNN_COUNT, DVNN_NOTHING));
#undef DVNN_NOTHING
#undef DVNN_COUNT

inline std::vector<PixelFormat> all_formats() {
  std::vector<PixelFormat> formats;
  for (const Format& f : kFormats) formats.push_back(f.format);
  return formats;
}

inline const Format& definition(PixelFormat format) {
  return *std::find_if(std::begin(kFormats), std::end(kFormats),
                       [format](const Format& f) { return f.format == format; });
}

inline bool is_yuv(PixelFormat f) {
  return definition(f).yuv;
}

inline bool is_gray(PixelFormat f) {
  return f == PixelFormat::kGray8 || f == PixelFormat::kGray16;
}

inline bool has_10_bits(PixelFormat f) {
  return definition(f).bits == 10;
}

/// `component`: 0 Y, 1 U, 2 V, or 0 R, 1 G, 2 B.
inline Place place(PixelFormat f, int component) {
  return definition(f).place[component];
}

/// A frame with odd strides and separate memory for each plane, so that a sanitizer sees every
/// access beyond a plane's last row.
struct Frame {
  FrameFormat format;
  std::vector<uint8_t> planes[3];
  FrameView view;

  /// Returns sample (x, y) of a component, in its plane's coordinates: 0..255, with 10 bits in
  /// steps of a quarter.
  double sample(int component, int x, int y) const {
    const Place p = place(format.format, component);
    const size_t plane = static_cast<size_t>(p.plane);
    const uint8_t* at =
        &planes[plane][static_cast<size_t>(y * view.strides[plane] + p.first + x * p.step)];
    if (p.bits > 0) {  // repeats the bits until there are eight
      const int value = (at[0] | at[1] << 8) >> p.shift & ((1 << p.bits) - 1);
      return (value << p.bits | value) >> (2 * p.bits - 8);
    }
    if (!has_10_bits(format.format)) return at[0];
    const int value = at[0] | at[1] << 8;
    return (definition(format.format).at_top ? value / 64 : value) / 4.0;
  }
};

inline int row_bytes(PixelFormat f, int component, int width) {
  const Place p = place(f, component);
  if (is_yuv(f) && place(f, 1).plane == 0) {  // packed
    return place(f, 1).sub_x == 1 ? width * p.step : (width + 1) / 2 * 4;
  }
  return is_yuv(f) ? (width + p.sub_x - 1) / p.sub_x * p.step : width * p.step;
}

inline Frame make_frame(PixelFormat f, int width, int height, std::mt19937* random) {
  Frame frame;
  frame.format.format = f;
  frame.format.width = width;
  frame.format.height = height;
  for (int i = 0; i < (is_yuv(f) ? 3 : 1); ++i) {
    const Place p = place(f, i);
    const size_t plane = static_cast<size_t>(p.plane);
    if (!frame.planes[plane].empty()) continue;
    const int rows = (height + p.sub_y - 1) / p.sub_y, bytes = row_bytes(f, i, width);
    const int stride = bytes + 6;
    frame.planes[plane].resize(static_cast<size_t>(stride * (rows - 1) + bytes));
    for (uint8_t& b : frame.planes[plane]) b = static_cast<uint8_t>((*random)());
    frame.view.planes[plane] = frame.planes[plane].data();
    frame.view.strides[plane] = stride;
  }
  if (has_10_bits(f)) {  // only 10 of the 16 bits are used
    for (auto& plane : frame.planes) {
      for (size_t i = 0; i < plane.size(); ++i) {
        if (definition(f).at_top && i % 2 == 0) plane[i] &= 0xc0;
        if (!definition(f).at_top && i % 2 == 1) plane[i] &= 0x03;
      }
    }
  }
  return frame;
}

}  // namespace frames
