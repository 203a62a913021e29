// SPDX-License-Identifier: Apache-2.0
// Straight lines between two points.
#pragma once

#include <algorithm>

namespace dvnn::draw {

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

}  // namespace dvnn::draw
