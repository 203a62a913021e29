// SPDX-License-Identifier: Apache-2.0
// What of an object the frame's edge hides, by what is known of its size.
#pragma once

#include "objects/object.h"
#include "track/frame_edge.h"
#include "track/track.h"

namespace dvnn::track {

/// Returns a box with the part that the frame's edge hides: it keeps its known size, and only its
/// visible edge is measured. `shape`: usual width by height of its class, 0 if unknown.
image::Corners with_hidden_part(image::Corners box, const Cuts& cuts, double shape,
                                const Track& track);
/// Updates a size that is still a guess, as each detection may show more of the object.
void set_unknown_extents(const image::Corners& whole, Track* track);

}  // namespace dvnn::track
