// SPDX-License-Identifier: Apache-2.0
#include "draw/figure.h"

#include <algorithm>
#include <cmath>

namespace dvnn::draw {
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
