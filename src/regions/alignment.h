// SPDX-License-Identifier: Apache-2.0
// Regions that are upright in the tensor although the object is not in the frame: by key points, or
// by an oriented box.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/span.h"
#include "image/view.h"

namespace dvnn::regions {

using Place = std::pair<double, double>;

/// Parses the places of key points in the tensor, in fractions of its width and height: "x,y x,y
/// ...", at least two.
Result<std::vector<Place>> parse_places(const std::string& text);

/// Returns the places of eyes, nose and corners of the mouth for ArcFace and networks derived from
/// it.
const std::vector<Place>& face_places();

/// Returns the parallelogram, in pixels of the frame, that a tensor of this `aspect` (height
/// divided by width) shows if a similarity transform moves `points` (pixels of the frame) to
/// `places` with the least squared error. Points with NaN are left out. Returns nothing if fewer
/// than two are left, or if all are at one place.
std::optional<image::Slant> align_points(Span<const Place> points, Span<const Place> places,
                                         double aspect);

/// Returns the parallelogram of an oriented box, whose corners go around it from its upper left
/// one, with a margin on each side as a share of its width and height.
image::Slant align_corners(Span<const Place> corners, double margin);

/// Returns the box, widened or heightened about its centre so that its height is `aspect` times its
/// width.
image::Corners widened(const image::Corners& box, double aspect);

/// Converts from pixels to fractions of a frame's visible part.
image::Slant shares_of(const image::Slant& pixels, const image::Corners& visible);

}  // namespace dvnn::regions
