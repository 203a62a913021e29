// SPDX-License-Identifier: Apache-2.0
// The rewritten graph -> a model: layouts, steps, packed weights, memory.
#pragma once

#include "base/result.h"
#include "convert/convert.h"
#include "convert/graph.h"

namespace dvnn::convert {

/// Errors name the layer, the value and the device's limit.
Result<network::Model> lower(const Graph& graph, const ConvertOptions& options,
                             const PictureSpec& picture, Report* report);

}  // namespace dvnn::convert
