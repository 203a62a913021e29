// SPDX-License-Identifier: Apache-2.0
#include "draw/heat.h"

#include <algorithm>
#include <cmath>

#include "draw/color.h"

namespace dvnn::draw {
namespace {

constexpr double kLeastAlpha = 70, kMostAlpha = 165;  // of 255: the frame stays visible
// Values below this share of the greatest one are drawn as nothing.
constexpr double kLeastShare = 1e-4;
constexpr int kMostCells = 1 << 20;

// Returns the colour of a level from 0 (blue) over green and yellow to 1 (red).
Color color_of_level(double level) {
  const double at = 4 * std::clamp(level, 0.0, 1.0);
  const auto ramp = [](double value) { return std::clamp(value, 0.0, 1.0); };
  return {ramp(at - 2), ramp(std::min(at, 4 - at)), ramp(2 - at)};
}

bool is_usable(const HeatMap& map) {
  const image::Corners& p = map.place;
  return map.columns >= 2 && map.rows >= 2 && map.columns <= kMostCells / map.rows &&
         map.values.size() == static_cast<size_t>(map.columns) * static_cast<size_t>(map.rows) &&
         std::isfinite(p.x0) && std::isfinite(p.y0) && p.x1 - p.x0 >= 2 && p.y1 - p.y0 >= 2 &&
         std::fabs(p.x0) + std::fabs(p.x1) + std::fabs(p.y0) + std::fabs(p.y1) < 1 << 20;
}

}  // namespace

std::optional<Tile> heat_tile(const HeatMap& map) {
  if (!is_usable(map)) return std::nullopt;
  const double most = static_cast<double>(*std::max_element(map.values.begin(), map.values.end()));
  if (!(most > 0) || !std::isfinite(most)) return std::nullopt;
  auto picture = std::make_shared<Picture>(map.columns, map.rows, false);
  for (size_t i = 0; i < map.values.size(); ++i) {
    const double share = static_cast<double>(map.values[i]) / most;
    // Scaling mixes the colours of neighbours, so that of nothing is that of little.
    const double level = share > kLeastShare ? 1 - std::log(share) / std::log(kLeastShare) : 0;
    const double alpha = share > kLeastShare ? kLeastAlpha + level * (kMostAlpha - kLeastAlpha) : 0;
    picture->argb[i] = color_of_level(level).pixel(static_cast<uint8_t>(std::lround(alpha)));
  }
  Tile tile;
  tile.x = static_cast<int>(std::lround(map.place.x0));
  tile.y = static_cast<int>(std::lround(map.place.y0));
  tile.width = static_cast<int>(std::lround(map.place.x1)) - tile.x;
  tile.height = static_cast<int>(std::lround(map.place.y1)) - tile.y;
  tile.picture = std::move(picture);
  return tile;
}

}  // namespace dvnn::draw
