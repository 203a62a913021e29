// SPDX-License-Identifier: Apache-2.0
// Computes the shapes of all values from the input's, for a graph of another size.
#pragma once

#include "base/cancel.h"
#include "plan/graph/graph.h"

namespace dvnn::plan {

/// Returns a shape of 1 to Shape::kMaxRank positive dimensions and at most 2^28 elements, or an
/// error that names the dimension.
Result<Shape> checked_shape(const std::vector<int64_t>& dims);
std::vector<int64_t> dims_of(const Shape& shape);

/// Computes every value's shape (and the parameters that follow from shapes) for an input of
/// `height` x `width` pixels. The graph is as front ends made it, or as the passes that do not look
/// at sizes left it; it may come from a hostile file. Errors name the layer: kUnsupported where the
/// model holds numbers for one size.
Status infer_shapes(Graph* graph, int channels, int height, int width,
                    const Cancellation* cancellation = nullptr);

}  // namespace dvnn::plan
