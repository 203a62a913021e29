// SPDX-License-Identifier: Apache-2.0
// The list of pixel formats, from which enumerators, the table of samples, caps and error messages
// are made. A row is
//   ROW(enumerator, name, DRM's code, layout of samples: a function of formats.cpp)
//   ALIAS(enumerator, name, DRM's code)  a format with the layout of another one
// Names are GStreamer's. Codes are strings for a list of caps: after a comma, or empty if DRM has
// none. The first row has its own macro, because no comma precedes it.
#pragma once

#include <cstdint>

// clang-format off
#define DVNN_PIXEL_FORMATS(FIRST, ROW, ALIAS)                                       \
  FIRST(kNv12,  NV12,      "NV12",       semi_planar(0, 1, 2))                      \
  ROW(kNv21,    NV21,      ", NV21",     semi_planar(1, 0, 2))                      \
  ROW(kNv16,    NV16,      ", NV16",     semi_planar(0, 1, 1))                      \
  ROW(kNv24,    NV24,      ", NV24",     semi_planar_444())                         \
  ROW(kI420,    I420,      ", YU12",     planar(1, 2, 2, 2))                        \
  ROW(kYv12,    YV12,      ", YV12",     planar(2, 1, 2, 2))                        \
  ROW(kY42b,    Y42B,      ", YU16",     planar(1, 2, 2, 1))                        \
  ROW(kY444,    Y444,      ", YU24",     planar(1, 2, 1, 1))                        \
  ROW(kYuy2,    YUY2,      ", YUYV",     packed_yuv(0, 1, 3))                       \
  ROW(kYvyu,    YVYU,      ", YVYU",     packed_yuv(0, 3, 1))                       \
  ROW(kUyvy,    UYVY,      ", UYVY",     packed_yuv(1, 0, 2))                       \
  ROW(kAyuv,    AYUV,      "",           packed_yuv_444(1, 2, 3))                   \
  ROW(kRgb,     RGB,       ", BG24",     packed_rgb(3, 0, 1, 2))                    \
  ROW(kBgr,     BGR,       ", RG24",     packed_rgb(3, 2, 1, 0))                    \
  ROW(kRgbx,    RGBx,      ", XB24",     packed_rgb(4, 0, 1, 2))                    \
  ROW(kBgrx,    BGRx,      ", XR24",     packed_rgb(4, 2, 1, 0))                    \
  ROW(kXrgb,    xRGB,      ", BX24",     packed_rgb(4, 1, 2, 3))                    \
  ROW(kXbgr,    xBGR,      ", RX24",     packed_rgb(4, 3, 2, 1))                    \
  ALIAS(kRgbx,  RGBA,      ", AB24")                                                \
  ALIAS(kBgrx,  BGRA,      ", AR24")                                                \
  ALIAS(kXrgb,  ARGB,      ", BA24")                                                \
  ALIAS(kXbgr,  ABGR,      ", RA24")                                                \
  ROW(kRgb16,   RGB16,     ", RG16",     packed_565(0, 1, 2))      /* 5, 6 and 5 bits */ \
  ROW(kBgr16,   BGR16,     ", BG16",     packed_565(2, 1, 0))                       \
  ROW(kGray8,   GRAY8,     ", \"R8  \"", gray())                                    \
  ROW(kGray16,  GRAY16_LE, "",           gray_16())         /* its upper bytes */ \
  ROW(kP010,    P010_10LE, ", P010",     semi_planar_10())  /* at the top of 16 bits */ \
  ROW(kI42010,  I420_10LE, "",           planar_10())       /* at the bottom */
// clang-format on

namespace dvnn::image {

#define DVNN_ENUMERATOR(enumerator, ...) enumerator,
#define DVNN_NOTHING(...)
enum class PixelFormat : uint8_t {
  DVNN_PIXEL_FORMATS(DVNN_ENUMERATOR, DVNN_ENUMERATOR, DVNN_NOTHING)
};
#undef DVNN_NOTHING
#undef DVNN_ENUMERATOR

}  // namespace dvnn::image
