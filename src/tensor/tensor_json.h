// SPDX-License-Identifier: Apache-2.0
// A tensor's description as JSON members: "type", "layout", "shape".
#pragma once

#include "base/json_fwd.h"
#include "tensor/tensor.h"

namespace dvnn {

/// Elements of the largest tensor that a description may have.
constexpr int64_t kMaxTensorElements = int64_t{1} << 28;

/// 1 to Shape::kMaxRank positive dimensions, and no more than kMaxTensorElements.
Status check_shape(const Shape& shape);

Json to_json(const TensorDesc& desc);
/// Reads the members; notes what is wrong in `in`. The layout must fit the shape.
TensorDesc read_desc(JsonReader* in);

}  // namespace dvnn
