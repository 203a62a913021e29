// SPDX-License-Identifier: Apache-2.0
// Maps objects from the network's input to the frame. No other code changes the coordinates of
// objects.
#pragma once

#include <optional>

#include "objects/object.h"

namespace dvnn::objects {

/// Maps places in the network's input to places in the frame.
struct FrameMap {
  image::Transform transform;               // from the frame's pixels to the input's
  image::Size input;                        // the input's size in pixels
  std::optional<image::Corners> clip = {};  // part of the frame at whose edges boxes are cut
};

/// Converts boxes, outlines, points and places of masks from fractions of the network's input to
/// pixels of the frame. With `clip`, boxes are cut at its edges, and objects without a remaining
/// part are dropped, and so are boxes with NaN. Outlines, points and masks are not cut. If the view
/// turns or flips the frame, the cells of masks are turned back. If it shears the frame, the box
/// becomes the one around the parallelogram, whose corners become the outline of a detection
/// without one, and masks are dropped.
void map_to_frame(const FrameMap& map, Objects* objects);

/// Cuts a box at the edges of `bounds`. Returns false if nothing is left or the box has NaN.
bool clip_box(const image::Corners& bounds, image::Corners* box);

}  // namespace dvnn::objects
