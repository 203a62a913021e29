// SPDX-License-Identifier: Apache-2.0
// Helpers for the functions of several layers' attributes (attributes.h).
#pragma once

#include "base/json_fwd.h"
#include "layers/attributes.h"
#include "layers/cost.h"

namespace dvnn::layers {

/// Creates a layer by its attributes' create() alone. create_cpu_layer() also checks the cost
/// before, and holds exceptions back.
LayerResult create_own(const LayerAttributes& attributes, Span<const TensorDesc> inputs,
                       Span<const TensorDesc> outputs, const CustomLibrary* library);
/// Checks the numbers of inputs and outputs.
Status expect_arity(Span<const TensorDesc> inputs, size_t min_inputs, size_t max_inputs,
                    Span<const TensorDesc> outputs);
/// Checks that two tensors hold equally many elements.
Status expect_same_elements(const TensorDesc& a, const TensorDesc& b);
/// Checks that the output has the dimensions `dims`, or returns their error.
Status expect_dims(const DimsResult& dims, const TensorDesc& output);
std::vector<Shape> shapes_of(Span<const TensorDesc> tensors);
/// Checks that there are `count` inputs and one output with the dimensions that the attributes
/// give.
template <typename Attributes>
Status expect_result(const Attributes& attributes, size_t count, Span<const TensorDesc> inputs,
                     Span<const TensorDesc> outputs) {
  DVNN_TRY(expect_arity(inputs, count, count, outputs));
  return expect_dims(attributes.dims_after(shapes_of(inputs)), outputs[0]);
}
/// Elements before `axis`, along it, and after it.
struct AxisSplit {
  size_t outer, count, inner;
};
AxisSplit split_at(const Shape& shape, int axis);
/// Returns the axis that an optional parameter means in a shape: by default the second, or the only
/// one.
Result<int> axis_in(const Shape& shape, const std::optional<int>& axis);

}  // namespace dvnn::layers
