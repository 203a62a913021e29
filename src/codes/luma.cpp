// SPDX-License-Identifier: Apache-2.0
#include "codes/luma.h"

#include <cmath>

#include "base/grid.h"
#include "image/formats.h"

namespace dvnn::codes {
namespace {

constexpr uint8_t kLight = 255;

unsigned sample(const Planes& frame, const image::FormatInfo& info, int component, int x, int y) {
  const image::Component& where = info.component[component];
  y /= frame.lines_per_row;
  if (info.is_565) {
    const uint8_t* at = frame.data[where.plane] +
                        static_cast<ptrdiff_t>(y) * frame.stride[where.plane] +
                        static_cast<ptrdiff_t>(x) * image::k565Bytes;
    return image::k565[where.first].widen(static_cast<uint16_t>(at[0] | at[1] << 8));
  }
  const uint8_t* at = frame.data[where.plane] +
                      static_cast<ptrdiff_t>(y / where.sub_y) * frame.stride[where.plane] +
                      where.first + static_cast<ptrdiff_t>(x / where.sub_x) * where.step;
  if (where.sample_bytes() == 1) return *at;
  const unsigned wide = at[0] | static_cast<unsigned>(at[1]) << 8;
  return wide >> where.shift >> (where.bits - 8) & 255u;
}

uint8_t pixel_or_light(const Luma& from, int x, int y) {
  if (x < 0 || y < 0 || x >= from.width || y >= from.height) return kLight;
  return from.pixels[grid_index(x, y, from.width)];
}

uint8_t between(const Luma& from, double x, double y) {
  const double left = std::floor(x), top = std::floor(y);
  const double right_share = x - left, lower_share = y - top;
  const int x0 = static_cast<int>(left), y0 = static_cast<int>(top);
  const double upper = pixel_or_light(from, x0, y0) * (1 - right_share) +
                       pixel_or_light(from, x0 + 1, y0) * right_share;
  const double lower = pixel_or_light(from, x0, y0 + 1) * (1 - right_share) +
                       pixel_or_light(from, x0 + 1, y0 + 1) * right_share;
  return static_cast<uint8_t>(upper * (1 - lower_share) + lower * lower_share + 0.5);
}

void resize(int width, int height, Luma* luma) {
  luma->width = width;
  luma->height = height;
  luma->pixels.resize(grid_size(width, height));
}

}  // namespace

void copy_luma(const Planes& frame, const PixelRect& part, Luma* luma) {
  // BT.601's weights, in 1/256.
  constexpr unsigned kRed = 77, kGreen = 150, kBlue = 29;
  const image::FormatInfo& info = image::format_info(frame.format);
  const bool coloured = !info.yuv && info.components == 3;
  resize(part.x1 - part.x0, part.y1 - part.y0, luma);
  uint8_t* to = luma->pixels.data();
  for (int y = part.y0; y < part.y1; ++y) {
    for (int x = part.x0; x < part.x1; ++x) {
      const unsigned first = sample(frame, info, 0, x, y);
      *to++ =
          static_cast<uint8_t>(coloured ? (kRed * first + kGreen * sample(frame, info, 1, x, y) +
                                           kBlue * sample(frame, info, 2, x, y)) >>
                                              8
                                        : first);
    }
  }
}

void turn(const Luma& from, double scale, double degrees, Luma* to) {
  const double angle = radians(degrees);
  const double c = std::cos(angle) / scale, s = std::sin(angle) / scale;
  const double wide = (from.width * std::fabs(c) + from.height * std::fabs(s)) * scale * scale,
               high = (from.width * std::fabs(s) + from.height * std::fabs(c)) * scale * scale;
  resize(static_cast<int>(std::ceil(wide)), static_cast<int>(std::ceil(high)), to);
  uint8_t* pixel = to->pixels.data();
  for (int row = 0; row < to->height; ++row) {
    for (int column = 0; column < to->width; ++column) {
      const double x = column + 0.5 - to->width / 2.0, y = row + 0.5 - to->height / 2.0;
      *pixel++ = between(from, from.width / 2.0 + c * x + s * y - 0.5,
                         from.height / 2.0 - s * x + c * y - 0.5);
    }
  }
}

}  // namespace dvnn::codes
