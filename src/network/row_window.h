// SPDX-License-Identifier: Apache-2.0
// A sliding window over results: the input of a network that is shown what another network has
// found lately, such as the last 76 lines of a spectrum of which each run makes eight.
#pragma once

#include <cstddef>
#include <vector>

#include "base/result.h"
#include "tensor/tensor.h"

namespace dvnn::network {

/// How results lie one after the other in an input, both row-major: each adds rows along one axis.
struct RowLayout {
  size_t outer = 1;  // elements of the axes before that one
  size_t rows = 1;   // of the input, along the axis
  size_t inner = 1;  // elements of the axes behind it
  size_t added = 1;  // rows of a result

  size_t input_elements() const { return outer * rows * inner; }
  size_t result_elements() const { return outer * added * inner; }
};

/// Finds the layout by the shapes, in which axes of one element do not count. A result with as many
/// elements as the input is a whole input. Else it has all axes of the input but for one, in which
/// it differs or which it lacks; of several such axes, the outermost. kMalformed if it does not
/// fit.
Result<RowLayout> row_layout(const Shape& input, const Shape& result);

/// The newest rows of a stream of results.
class RowWindow {
 public:
  explicit RowWindow(const RowLayout& layout);

  const RowLayout& layout() const { return layout_; }
  /// Adds a result, which has as many elements as the layout says, in place of the oldest rows. Of
  /// a result with more rows than the window, the last ones count.
  void add(const float* result);
  /// Whether as many rows have come as the input has.
  bool is_full() const { return filled_ == layout_.rows; }
  /// The input; zeros stand for rows that have not come.
  const std::vector<float>& input() const { return input_; }

 private:
  RowLayout layout_;
  size_t filled_ = 0;  // rows
  std::vector<float> input_;
};

}  // namespace dvnn::network
