// SPDX-License-Identifier: Apache-2.0
// Similarity of two sets of key points: COCO's object keypoint similarity, OKS
// (https://cocodataset.org/#keypoints-eval).
#pragma once

#include "evaluate/data_set.h"

namespace dvnn::evaluate {

/// Returns the similarity, 0..1. Each annotated point counts by its distance, in relation to the
/// object's area and to how precisely people annotate it: COCO's seventeen points have constants of
/// their own; in other sets, each point has 0.1, COCO's eyes having 0.025 and its hips 0.107. If no
/// point of `truth` is annotated, points within twice its box are right.
double key_point_similarity(const Found& found, const Truth& truth);

}  // namespace dvnn::evaluate
