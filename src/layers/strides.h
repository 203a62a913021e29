// SPDX-License-Identifier: Apache-2.0
// Walks over row-major arrays of up to Shape::kMaxRank dimensions.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/nth.h"
#include "tensor/tensor.h"

namespace dvnn::layers {

/// Elements from one index of an axis to the next, per axis.
using Strides = std::array<int64_t, Shape::kMaxRank>;

/// The strides of an array of that shape itself.
Strides strides_of(const Shape& shape);
/// The strides of an operand whose dimensions of 1 (and those that it lacks in front) repeat to
/// `to`.
Strides broadcast_strides(const Shape& from, const Shape& to);

/// Calls visit(index) for each row along the last axis; `index` is that of every other axis.
template <typename Visit>
void for_each_row(const Shape& shape, Visit visit) {
  const int last = shape.rank - 1;
  const int64_t rows = shape.elements() / shape[last];
  int index[Shape::kMaxRank] = {};
  for (int64_t row = 0; row < rows; ++row) {
    visit(static_cast<const int*>(index));
    for (int i = last - 1; i >= 0 && ++index[i] == shape[i]; --i) index[i] = 0;
  }
}

/// Calls visit(offset) for each index of `shape` in row-major order; the offset is `first` and
/// follows `strides`.
template <typename Visit>
void walk(const Shape& shape, const Strides& strides, int64_t first, Visit visit) {
  const int last = shape.rank - 1;
  const int64_t step = nth(strides, last);
  for_each_row(shape, [&](const int* index) {
    int64_t at = first;
    for (int i = 0; i < last; ++i) at += index[i] * nth(strides, i);
    for (int k = 0; k < shape[last]; ++k) visit(at + k * step);
  });
}

/// An array taken apart along some of its axes: each of `outer` begins a group, whose elements lie
/// at `inner` from there. Both are in row-major order.
struct Groups {
  std::vector<uint32_t> outer, inner;
};
Groups group_along(const Shape& shape, const std::vector<int>& axes);

/// Axes that are given, each once and below `rank`, in `axes`; else all of them.
Result<std::vector<int>> axes_or_all(const std::vector<int>& axes, int rank);

}  // namespace dvnn::layers
