// SPDX-License-Identifier: Apache-2.0
// What the frame's edge does to boxes: it hides a part of objects that enter or leave.
#pragma once

#include "objects/object.h"

namespace dvnn::track {

/// Whether the frame's size is known. If not, nothing is cut and nothing leaves.
bool is_known(const image::Size& frame);
/// Returns the visible part of a box, which has no extent if nothing is visible.
image::Corners visible_part(const image::Corners& box, const image::Size& frame);
/// Whether no part of a box is visible.
bool is_outside(const image::Corners& box, const image::Size& frame);
/// Whether less of a box is visible than an object in the frame shows.
bool has_left(const image::Corners& box, const image::Size& frame);
/// Whether an edge of the box is within a pixel of the frame's, or beyond it.
bool touches_edge(const image::Corners& box, const image::Size& frame);

/// Returns which edge of the frame along an axis (0: x, 1: y) is within `reach` of a box: -1 the
/// lower one, 1 the higher one, 0 neither.
int edge_within(const image::Corners& box, const image::Size& frame, int axis, double reach);
/// Returns how far an object has moved since it entered over `edge`, measured at its inner side,
/// which that edge does not cut.
double way_inward(const image::Corners& first, const image::Corners& now, int axis, int edge);

/// Which edges of a box are the frame's rather than the object's, if boxes are off by up to `off`
/// pixels. x, y: -1 the lower one, 1 the higher one, 0 neither or both.
struct Cuts {
  Cuts() = default;
  Cuts(const image::Corners& box, const image::Size& frame, double off);

  int x = 0, y = 0;
  bool width = false, height = false;  // whether an edge cuts it
};

}  // namespace dvnn::track
