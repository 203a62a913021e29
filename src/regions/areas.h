// SPDX-License-Identifier: Apache-2.0
// Areas of a frame, as users write them in JSON. docs/regions.md has the fields.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "image/view.h"

namespace dvnn::regions {

/// An area: a box, or the box around a polygon.
struct Area {
  std::string name;
  image::Corners box;
  bool pixels = false;  // else fractions of the frame's width and height
};

/// Parses a list of areas: [[x, y, width, height], {"name": "door", "box": [x, y, width, height]},
/// {"points": [[x, y], [x, y], [x, y]], "unit": "pixels"}]. Numbers are fractions of the frame,
/// unless `unit` is "pixels". An area without a name is named by its number, from 0 on. `what`
/// names the text in errors.
Result<std::vector<Area>> parse_areas(const std::string& text, const std::string& what);

/// Returns a box as fractions of the `visible` part of a frame; both are in pixels of the frame.
image::RelativeRect share_of(const image::Corners& box, const image::Corners& visible);

/// Returns the share of the `visible` part of a frame that is within `box`, both in pixels of the
/// frame, or nothing if they have no pixel in common.
std::optional<image::RelativeRect> part_of(const image::Corners& box,
                                           const image::Corners& visible);
/// Returns the share of the `visible` part of a frame that is within the area, or nothing.
std::optional<image::RelativeRect> part_of(const Area& area, const image::Corners& visible);

}  // namespace dvnn::regions
