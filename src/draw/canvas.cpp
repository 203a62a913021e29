// SPDX-License-Identifier: Apache-2.0
#include "draw/canvas.h"

#include <algorithm>
#include <cmath>
#include <memory>

namespace dvnn::draw {
namespace {

constexpr int kBlock = 128;                       // width and height of a block, pixels
constexpr size_t kMostShaded = size_t{16} << 20;  // pixels: a fraction of a second of work
constexpr double kRimFrom = 2;                    // least radius of a disc with a rim, pixels
constexpr double kFar = 1e7;                      // limit of coordinates; larger ones are not drawn

bool is_believable(double a, double b) {
  return std::fabs(a) < kFar && std::fabs(b) < kFar;  // false for NaN, too
}

// Returns the coverage of a pixel, 0..255, whose near side is `inside` pixels within the shape.
uint32_t alpha_of(double inside) {
  return inside >= 1 ? 255 : inside > 0 ? static_cast<uint32_t>(inside * 255 + 0.5) : 0;
}

// Blends an opaque colour over a premultiplied pixel.
void lay_over(uint32_t color, uint32_t alpha, uint32_t* pixel) {
  if (alpha == 255) *pixel = color;
  if (alpha == 0 || alpha == 255) return;
  uint32_t result = 0;
  for (int shift = 0; shift < 32; shift += 8) {
    const uint32_t mine = color >> shift & 255, under = *pixel >> shift & 255;
    result |= (mine * alpha + under * (255 - alpha) + 127) / 255 << shift;
  }
  *pixel = result;
}

}  // namespace

Canvas::Block* Canvas::block(int column, int row) {
  Block& block = blocks_[{row, column}];
  if (block.pixels.empty()) {
    block.pixels.assign(size_t{kBlock} * kBlock, 0);
    block.x0 = block.y0 = kBlock;
  }
  return &block;
}

template <typename Shade>
bool Canvas::shade_row(double x0, double x1, int y, Shade shade) {
  const int first = static_cast<int>(std::max(0.0, std::floor(x0)));
  const int last = static_cast<int>(std::min<double>(width_, std::ceil(x1)));  // exclusive
  ++shaded_;  // empty rows take time, too
  for (int begin = first; begin < last;) {
    const int column = begin / kBlock, row = y / kBlock;
    const int end = std::min(last, (column + 1) * kBlock);
    shaded_ += static_cast<size_t>(end - begin);
    if (shaded_ > kMostShaded) return false;
    Block& touched = *block(column, row);
    const int left = column * kBlock, top = row * kBlock;
    uint32_t* pixels = touched.pixels.data() + static_cast<ptrdiff_t>(y - top) * kBlock - left;
    for (int x = begin; x < end; ++x) shade(x + 0.5, y + 0.5, &pixels[x]);
    touched.x0 = std::min(touched.x0, begin - left);
    touched.y0 = std::min(touched.y0, y - top);
    touched.x1 = std::max(touched.x1, end - left);
    touched.y1 = std::max(touched.y1, y - top + 1);
    begin = end;
  }
  return shaded_ <= kMostShaded;
}

void Canvas::line(double x0, double y0, double x1, double y1, double thickness,
                  const Color& color) {
  const double half = thickness / 2, reach = half + 1;
  Segment s = {x0, y0, x1, y1};
  if (!is_believable(x0, y0) || !is_believable(x1, y1) ||
      !cut({-reach, -reach, width_ + reach, height_ + reach}, &s)) {
    return;
  }
  const double dx = s.x1 - s.x0, dy = s.y1 - s.y0, squared = dx * dx + dy * dy;
  const double outer = half + 0.5;
  const uint32_t over = color.pixel();
  // The distance of a pixel from the line gives its coverage.
  auto shade = [&](double x, double y, uint32_t* pixel) {
    const double along = (x - s.x0) * dx + (y - s.y0) * dy;
    const double t = squared > 0 ? std::clamp(along / squared, 0.0, 1.0) : 0;
    const double u = x - s.x0 - t * dx, v = y - s.y0 - t * dy;
    const double distance = u * u + v * v;  // squared
    if (distance < outer * outer) lay_over(over, alpha_of(outer - std::sqrt(distance)), pixel);
  };
  const int first = static_cast<int>(std::max(0.0, std::floor(std::min(s.y0, s.y1) - reach)));
  const int last =
      static_cast<int>(std::min<double>(height_, std::ceil(std::max(s.y0, s.y1) + reach)));
  for (int y = first; y < last; ++y) {
    Segment part = s;  // the part of the line that is near enough to this row
    if (!cut({-kFar, y + 0.5 - reach, kFar, y + 0.5 + reach}, &part)) continue;
    if (!shade_row(std::min(part.x0, part.x1) - reach, std::max(part.x0, part.x1) + reach, y,
                   shade)) {
      return;
    }
  }
}

void Canvas::disc(double x, double y, double radius, const Color& color) {
  if (!is_believable(x, y)) return;
  const double rim = radius < kRimFrom ? 0 : radius / 8, reach = radius + rim + 1;
  const uint32_t over = color.pixel();
  auto shade = [&](double at_x, double at_y, uint32_t* pixel) {
    const double distance = std::sqrt((at_x - x) * (at_x - x) + (at_y - y) * (at_y - y));
    lay_over(over, alpha_of(radius + 0.5 - distance), pixel);
    if (rim > 0) {
      constexpr uint32_t kRim = 0xff000000, kRimAlpha = 180;
      const double edge = rim + 0.5 - std::fabs(distance - radius);
      lay_over(kRim, alpha_of(edge) * kRimAlpha / 255, pixel);
    }
  };
  const int first = static_cast<int>(std::max(0.0, std::floor(y - reach)));
  const int last = static_cast<int>(std::min<double>(height_, std::ceil(y + reach)));
  for (int row = first; row < last; ++row) {
    const double off = row + 0.5 - y;
    const double wide = std::sqrt(std::max(0.0, reach * reach - off * off));
    if (!shade_row(x - wide, x + wide, row, shade)) return;
  }
}

void Canvas::take(std::vector<Tile>* tiles) {
  for (auto& [place, block] : blocks_) {
    const int x = place.second * kBlock + block.x0, y = place.first * kBlock + block.y0;
    const int width = std::min(block.x1 - block.x0, width_ - x);
    const int height = std::min(block.y1 - block.y0, height_ - y);
    if (width < 1 || height < 1) continue;
    auto picture = std::make_shared<Picture>(width, height, true);
    for (int row = 0; row < height; ++row) {
      const uint32_t* from =
          block.pixels.data() + static_cast<ptrdiff_t>(block.y0 + row) * kBlock + block.x0;
      std::copy(from, from + width, picture->argb.begin() + static_cast<ptrdiff_t>(row) * width);
    }
    tiles->push_back({std::move(picture), x, y, width, height});
  }
  blocks_.clear();
  shaded_ = 0;
}

namespace {

// Lengths of an arrow's parts, in thicknesses of the line.
constexpr double kShaft = 8, kHead = 3;

// Draws an arrow at the middle of the line, perpendicular to it, pointing to its right (y is
// downwards).
void draw_arrow(const std::vector<objects::Point>& way, double line, const Color& color,
                Canvas* canvas) {
  const auto length = [&](size_t i) {
    return std::hypot(way[i].x - way[i - 1].x, way[i].y - way[i - 1].y);
  };
  double left = 0;
  for (size_t i = 1; i < way.size(); ++i) left += length(i) / 2;
  for (size_t i = 1; i < way.size(); ++i) {
    const double part = length(i);
    if (left > part || !(part > 0)) {
      left -= part;
      continue;
    }
    const double along_x = (way[i].x - way[i - 1].x) / part;
    const double along_y = (way[i].y - way[i - 1].y) / part;
    const double x = way[i - 1].x + left * along_x, y = way[i - 1].y + left * along_y;
    const double right_x = -along_y, right_y = along_x;
    const double tip_x = x + kShaft * line * right_x, tip_y = y + kShaft * line * right_y;
    canvas->line(x, y, tip_x, tip_y, line, color);
    for (double side : {-1.0, 1.0}) {
      canvas->line(tip_x, tip_y, tip_x + kHead * line * (side * along_x - right_x),
                   tip_y + kHead * line * (side * along_y - right_y), line, color);
    }
    return;
  }
}

}  // namespace

void draw_figure(const Figure& figure, double line, Canvas* canvas) {
  const Color color = color_of(figure.color);
  const std::vector<objects::Point>& points = figure.points;
  for (size_t i = figure.closed ? 0 : 1; i < points.size(); ++i) {
    const objects::Point &a = points[i > 0 ? i - 1 : points.size() - 1], &b = points[i];
    const double part = static_cast<double>(i) / static_cast<double>(points.size() - 1);
    canvas->line(a.x, a.y, b.x, b.y, figure.tapers ? std::max(1.0, part * line) : line, color);
  }
  if (figure.arrow) draw_arrow(points, line, color, canvas);
}

}  // namespace dvnn::draw
