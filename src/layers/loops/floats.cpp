// SPDX-License-Identifier: Apache-2.0
#include "layers/loops/floats.h"

#include "base/format.h"
#include "base/numbers.h"

namespace dvnn::layers {

FloatTensors::FloatTensors(Span<const TensorDesc> inputs, const TensorDesc& output)
    : writer_(output), in_(inputs.size()), stays_(inputs.size()) {
  for (const TensorDesc& input : inputs) readers_.emplace_back(input);
}

FloatTensors::~FloatTensors() = default;

Status FloatTensors::run(Span<const ConstTensorView> inputs, Span<const TensorView> outputs) {
  for (size_t i = 0; i < in_.size(); ++i) in_[i] = readers_[i].read(inputs[i]);
  compute(in_.data(), writer_.begin_apart(inputs, outputs[0]));
  writer_.finish(outputs[0]);
  return {};
}

Cost float_layer_cost(Span<const TensorDesc> inputs, Span<const TensorDesc> outputs,
                      uint64_t taps) {
  const uint64_t made = elements_of(outputs);
  // A separate result, in case it must not overlap an input.
  return one_look(inputs, outputs).borrow_floats(made).add_work(saturating_product(made, taps));
}

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
      return unsupported(format("axis %d is named twice or is none of %d dimensions", axis, rank));
    }
    nth(named, axis) = true;
  }
  return axes;
}

}  // namespace dvnn::layers
