// SPDX-License-Identifier: Apache-2.0
// How alike two sets of key points are: COCO's object keypoint similarity, OKS
// (https://cocodataset.org/#keypoints-eval).
#pragma once

#include "evaluate/data_set.h"

namespace dvnn::evaluate {

/// 0..1. Each annotated point counts by how far it is off, in relation to the object's area and to
/// how surely people place it: COCO's seventeen have constants of their own; of other sets, every
/// point has one tenth, the constant of COCO's eyes being 0.025 and that of its hips 0.107. If no
/// point of `truth` is annotated, points that are within twice its box are right.
double key_point_similarity(const Found& found, const Truth& truth);

}  // namespace dvnn::evaluate
