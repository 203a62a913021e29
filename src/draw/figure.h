// SPDX-License-Identifier: Apache-2.0
// Lines on a frame that are no object's: areas, lines that are counted at, and ways of tracks.
#pragma once

#include <string>
#include <vector>

#include "draw/canvas.h"
#include "objects/object.h"

namespace dvnn::draw {

struct Figure {
  std::vector<objects::Point> points;  // frame pixels; anywhere, and cut at the frame
  bool closed = false;                 // the last point is joined to the first
  bool arrow = false;                  // stands on the middle of the way, and points to its right
  bool tapers = false;  // thin at the first point, and as thick as others at the last
  int color = 0;
  std::string text;  // UTF-8 of one line, above the first point; empty: none
};

/// Draws it in lines of that thickness. Throws std::bad_alloc.
void draw_figure(const Figure& figure, double line, Canvas* canvas);

}  // namespace dvnn::draw
