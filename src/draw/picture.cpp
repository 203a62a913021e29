// SPDX-License-Identifier: Apache-2.0
#include "draw/picture.h"

#include <algorithm>
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

}  // namespace dvnn::draw
