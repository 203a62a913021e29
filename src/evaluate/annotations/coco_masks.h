// SPDX-License-Identifier: Apache-2.0
// Reads and writes the masks of COCO's annotations and results: polygons, or lengths of runs.
#pragma once

#include <memory>

#include "base/json.h"
#include "evaluate/run_lengths.h"

namespace dvnn::evaluate {

/// Returns the mask of the member `segmentation`, for a picture of that size; null if there is
/// none, or if the size is not known (0).
Result<std::shared_ptr<const RunLengths>> read_segmentation(JsonReader* in, int width, int height);

Json segmentation_json(const RunLengths& runs);

}  // namespace dvnn::evaluate
