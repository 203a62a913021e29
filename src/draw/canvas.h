// SPDX-License-Identifier: Apache-2.0
// Draws lines, discs and figures on a frame, and stores only the parts that they touch. The frame
// is divided into blocks, which get pixels once something is drawn there. Memory and time are
// bounded, however much is drawn and however large the frame is.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "draw/picture.h"
#include "objects/object.h"

namespace dvnn::draw {

/// A straight line between two points.
struct Segment {
  double x0, y0, x1, y1;
};

/// Clips a segment to a rectangle. Returns false if nothing of it is inside.
inline bool cut(const Segment& edges, Segment* s) {
  const double dx = s->x1 - s->x0, dy = s->y1 - s->y0;
  double from = 0, to = 1;
  auto keep = [&](double direction, double room) {  // keeps direction * t <= room
    if (direction == 0) return room >= 0;
    const double t = room / direction;
    if (direction < 0) {
      from = std::max(from, t);
    } else {
      to = std::min(to, t);
    }
    return from <= to;
  };
  if (!keep(-dx, s->x0 - edges.x0) || !keep(dx, edges.x1 - s->x0) || !keep(-dy, s->y0 - edges.y0) ||
      !keep(dy, edges.y1 - s->y0)) {
    return false;
  }
  *s = {s->x0 + from * dx, s->y0 + from * dy, s->x0 + to * dx, s->y0 + to * dy};
  return true;
}

/// The pixels drawn on one frame. Functions throw std::bad_alloc.
class Canvas {
 public:
  Canvas(int width, int height) : width_(width), height_(height) {}
  /// Draws a line with round ends, in the frame's pixels. It is clipped to the frame, and not drawn
  /// if a coordinate is not finite.
  void line(double x0, double y0, double x1, double y1, double thickness, const Color& color);
  /// Draws a disc, with a dark rim if it is large enough.
  void disc(double x, double y, double radius, const Color& color);
  /// Appends what was drawn as tiles, cut to the touched pixels, and clears the canvas.
  void take(std::vector<Tile>* tiles);

 private:
  struct Block {
    std::vector<uint32_t> pixels;        // premultiplied
    int x0 = 0, y0 = 0, x1 = 0, y1 = 0;  // the touched part, in the block's pixels
  };
  /// Calls shade(x, y, pixel) for the pixels of a row from x0 up to x1 that are on the frame.
  /// Returns false when the limit of pixels is reached.
  template <typename Shade>
  bool shade_row(double x0, double x1, int y, Shade shade);
  Block* block(int column, int row);

  int width_, height_;
  size_t shaded_ = 0;                            // pixels shaded so far
  std::map<std::pair<int, int>, Block> blocks_;  // by row and column
};

/// Lines on a frame that belong to no object: areas, counting lines, and paths of tracks.
struct Figure {
  std::vector<objects::Point> points;  // frame pixels; clipped to the frame
  bool closed = false;                 // whether the last point is joined to the first
  bool arrow = false;   // an arrow at the middle that points to the right of the line
  bool tapers = false;  // thin at the first point, of full thickness at the last
  int color = 0;
  std::string text;  // one line of UTF-8, above the first point; empty: none
};

/// Draws a figure in lines `line` pixels thick. Throws std::bad_alloc.
void draw_figure(const Figure& figure, double line, Canvas* canvas);

}  // namespace dvnn::draw
