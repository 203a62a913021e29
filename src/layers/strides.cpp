// SPDX-License-Identifier: Apache-2.0
#include "layers/strides.h"

#include "base/format.h"
#include "base/nth.h"

namespace dvnn::layers {

Strides strides_of(const Shape& shape) {
  Strides strides = {};
  int64_t stride = 1;
  for (int i = shape.rank - 1; i >= 0; --i) {
    nth(strides, i) = stride;
    stride *= shape[i];
  }
  return strides;
}

Strides broadcast_strides(const Shape& from, const Shape& to) {
  const Strides own = strides_of(from);
  Strides strides = {};
  for (int i = 0; i < from.rank; ++i) {
    const auto at = static_cast<size_t>(i + to.rank - from.rank);
    if (from[i] != 1) strides[at] = nth(own, i);
  }
  return strides;
}

Groups group_along(const Shape& shape, const std::vector<int>& axes) {
  const Strides strides = strides_of(shape);
  Shape inside = shape, outside = shape;
  for (int i = 0; i < shape.rank; ++i) inside[i] = 1;
  for (int axis : axes) {
    inside[axis] = shape[axis];
    outside[axis] = 1;
  }
  auto offsets = [&](const Shape& part) {
    std::vector<uint32_t> list;
    list.reserve(part.count());
    walk(part, strides, 0, [&](int64_t at) { list.push_back(static_cast<uint32_t>(at)); });
    return list;
  };
  return {offsets(outside), offsets(inside)};
}

Result<std::vector<int>> axes_or_all(const std::vector<int>& axes, int rank) {
  std::vector<int> all;
  for (int i = 0; i < rank; ++i) all.push_back(i);
  if (axes.empty()) return all;
  std::vector<bool> named(static_cast<size_t>(rank), false);
  for (int axis : axes) {
    if (axis < 0 || axis >= rank || nth(named, axis)) {
      return Error{ErrorCode::kUnsupported,
                   format("axis %d is named twice or is none of %d dimensions", axis, rank)};
    }
    nth(named, axis) = true;
  }
  return axes;
}

}  // namespace dvnn::layers
