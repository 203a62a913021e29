// SPDX-License-Identifier: Apache-2.0
// What the frame's edge does to boxes: it hides a part of who comes in or walks out.
#pragma once

#include "objects/object.h"

namespace dvnn::track {

inline double area_of(const image::Corners& box) {
  return (box.x1 - box.x0) * (box.y1 - box.y0);
}

/// Whether the frame's size is known; where it is not, nothing is hidden and nobody leaves.
bool is_known(const image::Size& frame);
/// Returns what the frame shows of a box: without an extent where it shows nothing.
image::Corners visible_part(const image::Corners& box, const image::Size& frame);
/// Whether the frame shows nothing of a box.
bool is_outside(const image::Corners& box, const image::Size& frame);
/// Whether so little of a box is left in the frame that it counts as gone.
bool has_left(const image::Corners& box, const image::Size& frame);
/// Whether one of the box's edges is the frame's, to a pixel.
bool touches_edge(const image::Corners& box, const image::Size& frame);

/// Returns which edge of the frame, along an axis (0 or 1), is no farther from a box than `reach`:
/// -1 the lower one, 1 the higher one, 0 neither.
int edge_within(const image::Corners& box, const image::Size& frame, int axis, double reach);
/// Returns how far something has gone since it came in over that edge: what it shows first is cut
/// there, but not on its other side.
double way_inward(const image::Corners& first, const image::Corners& now, int axis, int edge);

/// Which of a box's edges are those of the frame rather than of the thing, as far as one can tell
/// where boxes are off by `off` pixels. Per axis: -1 the lower one, 1 the higher one, 0 neither, or
/// both.
struct Cuts {
  Cuts() = default;
  Cuts(const image::Corners& box, const image::Size& frame, double off);

  int x = 0, y = 0;
  bool width = false, height = false;  // whether an edge hides some of it
};

}  // namespace dvnn::track
