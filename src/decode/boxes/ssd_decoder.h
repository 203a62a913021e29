// SPDX-License-Identifier: Apache-2.0
// Computes priors by the rules of detectors whose models do not contain them.
#pragma once

#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"
#include "kernels/boxes/prior_box.h"

namespace dvnn::decode {

using kernels::Prior;

/// Computes anchors for detectors whose model gives raw deltas. `rule["rule"]` is one of
///   "min-boxes": {"image": [w, h], "strides": [8, ...], "min_boxes": [[10, 16, 24], ...]}
///      one grid of ceil(image / stride) cells per stride; square anchors of the given pixel sizes;
///      centre-form values clamped to 1 (the ultra-light face detectors' rule), unless "clamp" is
///      false (RetinaFace's)
///   "sizes-ratios": {"features": [[33, 33], ...], "sizes": [[0.04, 0.056], ...],
///      "ratios": [[1, 0.62, 0.42], ...]}
///      sizes relative to the picture; every size with the first ratio, then the first size with
///      the other ratios (AIZOO's FaceMaskDetection's rule)
///   "prior-box": {"layers": [PriorBox parameters, ...]}
/// "variances" (4 numbers, default 0.1 0.1 0.2 0.2) applies to the first two.
/// `groups`, which may be null, gets the number of anchors of each grid or layer.
Result<std::vector<Prior>> make_anchors(const Json& rule, std::vector<size_t>* groups = nullptr);

}  // namespace dvnn::decode
