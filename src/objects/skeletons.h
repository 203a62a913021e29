// SPDX-License-Identifier: Apache-2.0
// The common sets of key points: the name of each point, and the lines between points.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/span.h"

namespace dvnn::objects {

/// A line between two points, given by their indices.
struct SkeletonEdge {
  uint16_t from, to;
};

/// A set of key points.
struct Skeleton {
  const char* name;                // as in Object::skeleton: "coco-17"
  int count;                       // number of points
  Span<const SkeletonEdge> edges;  // lines to draw; may be empty
  // Names of the points, in their order; empty for dense sets of faces, whose points only have
  // numbers.
  Span<const char* const> points;
};

/// Returns the set of this name, or null.
const Skeleton* find_skeleton(std::string_view name);

/// Returns the names of all sets, for messages.
std::vector<std::string> skeleton_names();

}  // namespace dvnn::objects
