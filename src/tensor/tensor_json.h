// SPDX-License-Identifier: Apache-2.0
// Reads and writes a tensor's description as JSON members: "type", "layout", "shape".
#pragma once

#include "base/json_fwd.h"
#include "tensor/tensor.h"

namespace dvnn {

/// Limit of a described tensor's elements.
constexpr int64_t kMaxTensorElements = int64_t{1} << 28;

/// Checks that a shape has 1 to Shape::kMaxRank positive dimensions and at most kMaxTensorElements.
Status check_shape(const Shape& shape);

Json to_json(const TensorDesc& desc);
/// Reads the members, recording errors in `in`. The layout must fit the shape.
TensorDesc read_desc(JsonReader* in);

}  // namespace dvnn
