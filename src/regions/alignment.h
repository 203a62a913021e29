// SPDX-License-Identifier: Apache-2.0
// Regions that stand upright in the tensor though the thing does not in the frame: by key points,
// or by an oriented box.
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

/// Parses where key points are to be in the tensor, in fractions of its width and height: "x,y x,y
/// ...", at least two.
Result<std::vector<Place>> parse_places(const std::string& text);

/// The places at which ArcFace, and networks that learned from it, want eyes, nose and corners of
/// the mouth.
const std::vector<Place>& face_places();

/// The parallelogram, in pixels of the frame, that a tensor of that `aspect` (height over width)
/// shows if a similarity transform moves `points` (pixels of the frame) to `places`, as well as one
/// can in the sense of least squares. Points with no number are left out; nothing if fewer than two
/// are left, or if they are all at one place.
std::optional<image::Slant> align_points(Span<const Place> points, Span<const Place> places,
                                         double aspect);

/// The same of an oriented box whose corners go around it from its upper left one, with a margin on
/// each side as a part of its width and height.
image::Slant align_corners(Span<const Place> corners, double margin);

/// The box, wider or higher about its middle so that its height is `aspect` times its width.
image::Corners widened(const image::Corners& box, double aspect);

/// In fractions of a frame's visible part.
image::Slant shares_of(const image::Slant& pixels, const image::Corners& visible);

}  // namespace dvnn::regions
