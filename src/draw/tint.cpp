// SPDX-License-Identifier: Apache-2.0
#include "draw/tint.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/nth.h"

namespace dvnn::draw {
namespace {

constexpr int kTint = 115;                     // alpha of masks, of 255: the frame stays visible
constexpr int kEdgeFrom = 104, kEdgeTo = 152;  // values of cells over which the edge fades in

// The cells that a column or row of a picture lies between.
struct Sample {
  int first = 0, second = 0;  // the cells on both sides
  int weight = 0;             // of the second cell, 0..256
  int nearest = 0;
  bool inside = false;  // whether it is within the mask's place
};

// Returns `pixels` samples of the frame's pixels `first` to `first + length`.
std::vector<Sample> samples_of(int first, int length, int pixels, double begin, double end,
                               int cells) {
  std::vector<Sample> samples(static_cast<size_t>(pixels));
  for (int i = 0; i < pixels; ++i) {
    const double step = pixels > 1 ? (length - 1.0) / (pixels - 1.0) : 0;
    const double at = first + 0.5 + i * step;
    const double cell = std::clamp((at - begin) / (end - begin) * cells - 0.5, 0.0, cells - 1.0);
    Sample& s = nth(samples, i);
    s.first = static_cast<int>(cell);
    s.second = std::min(s.first + 1, cells - 1);
    s.weight = static_cast<int>((cell - s.first) * 256);
    s.nearest = s.weight < 128 ? s.first : s.second;
    s.inside = at >= begin && at <= end;
  }
  return samples;
}

// Returns the alpha of each value of a cell.
std::array<uint8_t, 256> edge_ramp() {
  std::array<uint8_t, 256> ramp{};
  for (int v = 0; v < 256; ++v) {
    const double t = std::clamp((v - kEdgeFrom) / double{kEdgeTo - kEdgeFrom}, 0.0, 1.0);
    nth(ramp, v) = static_cast<uint8_t>(std::lround(kTint * t * t * (3 - 2 * t)));
  }
  return ramp;
}

std::array<uint32_t, 256> class_pixels() {
  std::array<uint32_t, 256> pixels{};
  for (int c = 1; c < 256; ++c) nth(pixels, c) = color_of(c).pixel(kTint);
  return pixels;
}

const uint8_t* row_of(const objects::Mask& mask, int row) {
  return mask.cells.data() + static_cast<ptrdiff_t>(row) * mask.width;
}

void tint_object_row(const objects::Mask& mask, const Sample& y, const std::vector<Sample>& columns,
                     uint32_t color, uint32_t* to) {
  static const std::array<uint8_t, 256> ramp = edge_ramp();
  const uint8_t *upper = row_of(mask, y.first), *lower = row_of(mask, y.second);
  for (size_t i = 0; i < columns.size(); ++i) {
    const Sample& x = columns[i];
    const int above = upper[x.first] * (256 - x.weight) + upper[x.second] * x.weight;
    const int below = lower[x.first] * (256 - x.weight) + lower[x.second] * x.weight;
    const int value = (above * (256 - y.weight) + below * y.weight) >> 16;
    const uint8_t alpha = x.inside && y.inside ? nth(ramp, value) : 0;
    to[i] = color | uint32_t{alpha} << 24;
  }
}

void tint_class_row(const objects::Mask& mask, const Sample& y, const std::vector<Sample>& columns,
                    uint32_t* to) {
  static const std::array<uint32_t, 256> pixels = class_pixels();
  constexpr uint32_t kColor = 0xffffff;
  const uint8_t* row = row_of(mask, y.nearest);
  uint32_t beside = 0;  // colour under alpha 0: the neighbour's, as scaling mixes the two
  for (size_t i = 0; i < columns.size(); ++i) {
    const Sample& x = columns[i];
    const uint32_t pixel = x.inside && y.inside ? pixels[row[x.nearest]] : 0;
    if (pixel != 0) beside = pixel & kColor;
    to[i] = pixel != 0 ? pixel : beside;
  }
}

bool is_usable(const objects::Mask& mask) {
  const image::Corners& p = mask.place;
  return mask.there() && std::isfinite(p.x0) && std::isfinite(p.y0) && std::isfinite(p.x1) &&
         std::isfinite(p.y1) && p.x1 > p.x0 && p.y1 > p.y0;
}

}  // namespace

std::optional<Tile> mask_tile(const objects::Object& object, int color,
                              const image::Corners& bounds, size_t most) {
  const objects::Mask& mask = object.mask;
  if (!is_usable(mask)) return std::nullopt;
  const image::Corners& place = mask.place;
  Tile tile;
  tile.x = static_cast<int>(std::floor(std::clamp(place.x0, bounds.x0, bounds.x1)));
  tile.y = static_cast<int>(std::floor(std::clamp(place.y0, bounds.y0, bounds.y1)));
  tile.width = static_cast<int>(std::ceil(std::clamp(place.x1, bounds.x0, bounds.x1))) - tile.x;
  tile.height = static_cast<int>(std::ceil(std::clamp(place.y1, bounds.y0, bounds.y1))) - tile.y;
  if (tile.width < 1 || tile.height < 1) return std::nullopt;
  const double shrink = std::max(
      1.0, std::sqrt(double(tile.width) * tile.height / std::max<double>(1, double(most))));
  // A scaled picture has at least two pixels, as GStreamer needs a distance from the first to the
  // last.
  auto pixels_of = [&](int length) {
    const int pixels = static_cast<int>(length / shrink);
    return shrink > 1 ? std::min(length, std::max(2, pixels)) : length;
  };
  auto picture = std::make_shared<Picture>(pixels_of(tile.width), pixels_of(tile.height), false);
  const std::vector<Sample> columns =
      samples_of(tile.x, tile.width, picture->width, place.x0, place.x1, mask.width);
  const std::vector<Sample> rows =
      samples_of(tile.y, tile.height, picture->height, place.y0, place.y1, mask.height);
  const uint32_t tint = color_of(color).pixel(0);
  for (int y = 0; y < picture->height; ++y) {
    uint32_t* to = picture->argb.data() + static_cast<ptrdiff_t>(y) * picture->width;
    const Sample& row = nth(rows, y);
    if (object.kind == objects::Kind::kSegmentation) {
      tint_class_row(mask, row, columns, to);
    } else {
      tint_object_row(mask, row, columns, tint, to);
    }
  }
  tile.picture = std::move(picture);
  return tile;
}

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
