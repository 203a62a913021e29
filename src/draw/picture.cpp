// SPDX-License-Identifier: Apache-2.0
#include "draw/picture.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace dvnn::draw {

uint32_t Color::pixel(uint8_t alpha) const {
  auto byte = [](double part) {
    return static_cast<uint32_t>(std::lround(255 * std::clamp(part, 0.0, 1.0)));
  };
  return uint32_t{alpha} << 24 | byte(red) << 16 | byte(green) << 8 | byte(blue);
}

// Hues are a golden angle apart, almost saturated and as bright as possible.
Color color_of(int number) {
  constexpr double kGoldenAngle = 137.50776405, kSaturation = 0.86;
  const double hue = std::fmod(std::fabs(number * kGoldenAngle), 360.0);
  auto part = [&](double from) {
    const double distance = std::fmod(hue + from, 360.0) / 60;
    const double ramp = std::clamp(std::min(distance, 4 - distance), 0.0, 1.0);
    return 1 - kSaturation * ramp;
  };
  return {part(300), part(180), part(60)};
}

namespace {

using Pixel = std::array<uint32_t, 4>;  // blue, green, red, alpha; 0..255

Pixel parts_of(uint32_t argb) {
  return {{argb & 255, argb >> 8 & 255, argb >> 16 & 255, argb >> 24}};
}

// The two pixels of a picture that a position lies between, along one axis.
struct Spot {
  int first, second;
  uint32_t weight;  // of the second pixel, 0..256
};

Spot spot_of(int at, int length, int count) {
  if (count == length || length < 2) return {at % count, at % count, 0};
  const double position = static_cast<double>(at) * (count - 1) / (length - 1);
  const int first = std::min(static_cast<int>(position), count - 1);
  return {first, std::min(first + 1, count - 1), static_cast<uint32_t>((position - first) * 256)};
}

Pixel mix(const Pixel& a, const Pixel& b, uint32_t weight) {
  Pixel mixed;
  for (size_t i = 0; i < mixed.size(); ++i) {
    mixed[i] = (a[i] * (256 - weight) + b[i] * weight + 128) >> 8;
  }
  return mixed;
}

Pixel sample(const Picture& picture, const Spot& x, const Spot& y) {
  auto at = [&](int column, int row) {
    return parts_of(picture.argb[grid_index(column, row, picture.width)]);
  };
  if (x.weight == 0 && y.weight == 0) return at(x.first, y.first);
  return mix(mix(at(x.first, y.first), at(x.second, y.first), x.weight),
             mix(at(x.first, y.second), at(x.second, y.second), x.weight), y.weight);
}

void blend_tile(const Tile& tile, const BgrView& onto) {
  const Picture& picture = *tile.picture;
  const int x0 = std::max(0, tile.x), x1 = std::min(onto.width, tile.x + tile.width);
  const int y0 = std::max(0, tile.y), y1 = std::min(onto.height, tile.y + tile.height);
  for (int y = y0; y < y1; ++y) {
    const Spot row = spot_of(y - tile.y, tile.height, picture.height);
    uint8_t* to = onto.data + y * onto.stride + ptrdiff_t{3} * x0;
    for (int x = x0; x < x1; ++x, to += 3) {
      const Pixel p = sample(picture, spot_of(x - tile.x, tile.width, picture.width), row);
      const uint32_t alpha = p[3], share = picture.premultiplied ? 255 : alpha;
      for (size_t c = 0; c < 3; ++c) {
        const uint32_t sum = p[c] * share + to[c] * (255 - alpha);
        to[c] = static_cast<uint8_t>(std::min<uint32_t>(255, (sum + 127) / 255));
      }
    }
  }
}

}  // namespace

void blend(const std::vector<Tile>& tiles, const BgrView& onto) {
  for (const Tile& tile : tiles) blend_tile(tile, onto);
}

}  // namespace dvnn::draw
