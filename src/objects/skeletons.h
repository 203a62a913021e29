// SPDX-License-Identifier: Apache-2.0
// The common sets of key points: what each point is, and which points lines join.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/span.h"

namespace dvnn::objects {

/// A line between two points, by their indices.
struct SkeletonEdge {
  uint16_t from, to;
};

/// A set of key points.
struct Skeleton {
  const char* name;                // as Object::skeleton has it: "coco-17"
  int count;                       // points of the set
  Span<const SkeletonEdge> edges;  // what is drawn between them; may be empty
  // The names of the points, in their order; empty where points have only numbers, as the dense
  // sets of faces have.
  Span<const char* const> points;
};

/// The set that is called so, or null if none is.
const Skeleton* find_skeleton(std::string_view name);

/// The name of a point: the set's own, or "point N" where it has none.
std::string point_name(const Skeleton* skeleton, size_t index);

/// The names of all sets, for messages.
std::vector<std::string> skeleton_names();

}  // namespace dvnn::objects
