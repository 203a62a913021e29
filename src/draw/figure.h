// SPDX-License-Identifier: Apache-2.0
// Lines on a frame that belong to no object: areas, counting lines, and paths of tracks.
#pragma once

#include <string>
#include <vector>

#include "draw/canvas.h"
#include "objects/object.h"

namespace dvnn::draw {

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
