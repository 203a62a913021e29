// SPDX-License-Identifier: Apache-2.0
// Maps objects from the network's input to the frame: the only place where objects change their
// coordinates.
#pragma once

#include <optional>

#include "objects/object.h"

namespace dvnn::objects {

/// Maps places in the network's input to places in the frame.
struct FrameMap {
  image::Transform transform;               // from the frame's pixels to the input's
  image::Size input;                        // the input's size in pixels
  std::optional<image::Corners> clip = {};  // the part of the frame where boxes end at its edges
};

/// Turns boxes, outlines, points and the places of masks, which are fractions of the network's
/// input, into pixels of the frame. With `clip`, boxes are cut at that part's edges, and objects of
/// which nothing is left are dropped; so are boxes that are not numbers. Outlines, points and masks
/// are not cut. Where the view turns or flips the frame, masks' cells are turned back with it.
/// Where it shears the frame, a box is the one around what was found, whose corners become the
/// outline of a detection that has none; masks are left out.
void map_to_frame(const FrameMap& map, Objects* objects);

/// Cuts a box at the edges of `bounds`; false if nothing is left, or if the box is not of numbers.
bool clip_box(const image::Corners& bounds, image::Corners* box);

}  // namespace dvnn::objects
