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

constexpr PixelFormat kYuvFormats[] = {
    PixelFormat::kNv12, PixelFormat::kNv21, PixelFormat::kNv16,
    PixelFormat::kI420, PixelFormat::kYv12, PixelFormat::kYuy2,
    PixelFormat::kUyvy, PixelFormat::kP010, PixelFormat::kI42010};
constexpr PixelFormat kOtherFormats[] = {PixelFormat::kRgb,  PixelFormat::kBgr,  PixelFormat::kRgbx,
                                         PixelFormat::kBgrx, PixelFormat::kXrgb, PixelFormat::kXbgr,
                                         PixelFormat::kGray8};

inline std::vector<PixelFormat> all_formats() {
  std::vector<PixelFormat> formats(std::begin(kYuvFormats), std::end(kYuvFormats));
  formats.insert(formats.end(), std::begin(kOtherFormats), std::end(kOtherFormats));
  return formats;
}

inline bool is_yuv(PixelFormat f) {
  return std::find(std::begin(kYuvFormats), std::end(kYuvFormats), f) != std::end(kYuvFormats);
}

inline bool has_10_bits(PixelFormat f) {
  return f == PixelFormat::kP010 || f == PixelFormat::kI42010;
}

/// Where a component lies: from the formats' definitions (GStreamer's video-format documentation),
/// apart from the table that the converter uses.
struct Place {
  int plane = 0, first = 0, step = 1, sub_x = 1, sub_y = 1;
};

/// `component`: 0 Y, 1 U, 2 V, or 0 R, 1 G, 2 B.
inline Place place(PixelFormat f, int component) {
  const bool chroma = component > 0;
  const int u = component - 1;  // 0: U, 1: V
  switch (f) {
    case PixelFormat::kNv12:
      return chroma ? Place{1, u, 2, 2, 2} : Place{};
    case PixelFormat::kNv21:
      return chroma ? Place{1, 1 - u, 2, 2, 2} : Place{};
    case PixelFormat::kNv16:
      return chroma ? Place{1, u, 2, 2, 1} : Place{};
    case PixelFormat::kI420:
      return chroma ? Place{1 + u, 0, 1, 2, 2} : Place{};
    case PixelFormat::kYv12:
      return chroma ? Place{2 - u, 0, 1, 2, 2} : Place{};
    case PixelFormat::kYuy2:
      return chroma ? Place{0, 1 + 2 * u, 4, 2, 1} : Place{0, 0, 2, 1, 1};
    case PixelFormat::kUyvy:
      return chroma ? Place{0, 2 * u, 4, 2, 1} : Place{0, 1, 2, 1, 1};
    case PixelFormat::kP010:
      return chroma ? Place{1, 2 * u, 4, 2, 2} : Place{0, 0, 2, 1, 1};
    case PixelFormat::kI42010:
      return chroma ? Place{1 + u, 0, 2, 2, 2} : Place{0, 0, 2, 1, 1};
    case PixelFormat::kRgb:
      return {0, component, 3, 1, 1};
    case PixelFormat::kBgr:
      return {0, 2 - component, 3, 1, 1};
    case PixelFormat::kRgbx:
      return {0, component, 4, 1, 1};
    case PixelFormat::kBgrx:
      return {0, 2 - component, 4, 1, 1};
    case PixelFormat::kXrgb:
      return {0, 1 + component, 4, 1, 1};
    case PixelFormat::kXbgr:
      return {0, 3 - component, 4, 1, 1};
    case PixelFormat::kGray8:
      return {};
  }
  return {};
}

/// A frame with odd strides and memory of its own per plane, so that a sanitizer sees every step
/// beyond a plane's last row.
struct Frame {
  FrameFormat format;
  std::vector<uint8_t> planes[3];
  FrameView view;

  /// Sample (x, y) of a component, in the units of its plane: 0..255, of 10 bits in quarters.
  double sample(int component, int x, int y) const {
    const Place p = place(format.format, component);
    const size_t plane = static_cast<size_t>(p.plane);
    const uint8_t* at =
        &planes[plane][static_cast<size_t>(y * view.strides[plane] + p.first + x * p.step)];
    if (!has_10_bits(format.format)) return at[0];
    const int value = at[0] | at[1] << 8;
    return (format.format == PixelFormat::kP010 ? value / 64 : value) / 4.0;
  }
};

inline int row_bytes(PixelFormat f, int component, int width) {
  const Place p = place(f, component);
  if (f == PixelFormat::kYuy2 || f == PixelFormat::kUyvy) return (width + 1) / 2 * 4;
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
        if (f == PixelFormat::kP010 && i % 2 == 0) plane[i] &= 0xc0;
        if (f == PixelFormat::kI42010 && i % 2 == 1) plane[i] &= 0x03;
      }
    }
  }
  return frame;
}

}  // namespace frames
