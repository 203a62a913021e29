// SPDX-License-Identifier: Apache-2.0
#include "network/row_window.h"

#include <algorithm>

namespace dvnn::network {
namespace {

using Axes = std::vector<size_t>;

Axes long_axes(const Shape& shape) {
  Axes axes;
  for (size_t i = 0; i < shape.axes(); ++i) {
    if (shape.dims[i] != 1) axes.push_back(shape.extent(static_cast<int>(i)));
  }
  return axes;
}

size_t product(Axes::const_iterator from, Axes::const_iterator to) {
  size_t all = 1;
  for (; from != to; ++from) all *= *from;
  return all;
}

// Returns whether `result` has the axes of `input`, apart from any length of axis `at`, which it
// may lack if it adds one row.
bool fits(const Axes& input, Axes result, size_t at) {
  const auto place = static_cast<ptrdiff_t>(at);
  if (result.size() + 1 == input.size()) result.insert(result.begin() + place, 1);
  if (result.size() != input.size()) return false;
  result[at] = input[at];
  return result == input;
}

}  // namespace

Result<RowLayout> row_layout(const Shape& input, const Shape& result) {
  if (input.elements() == result.elements()) return RowLayout{1, 1, input.count(), 1};
  const Axes in = long_axes(input), out = long_axes(result);
  for (size_t at = 0; at < in.size(); ++at) {
    if (!fits(in, out, at)) continue;
    const auto place = in.begin() + static_cast<ptrdiff_t>(at);
    RowLayout layout;
    layout.outer = product(in.begin(), place);
    layout.rows = *place;
    layout.inner = product(place + 1, in.end());
    layout.added = out.size() == in.size() ? out[at] : 1;
    return layout;
  }
  return malformed("a result of " + result.to_string() + " is neither the input, " +
                   input.to_string() + ", nor rows of it");
}

RowWindow::RowWindow(const RowLayout& layout) : layout_(layout), input_(layout.input_elements()) {}

void RowWindow::add(const float* result) {
  const size_t whole = layout_.rows * layout_.inner, block = layout_.added * layout_.inner;
  const size_t fresh = std::min(whole, block);
  for (size_t i = 0; i < layout_.outer; ++i) {
    float* to = input_.data() + i * whole;
    std::copy(to + fresh, to + whole, to);
    std::copy(result + (i + 1) * block - fresh, result + (i + 1) * block, to + whole - fresh);
  }
  filled_ = std::min(layout_.rows, filled_ + layout_.added);
}

}  // namespace dvnn::network
