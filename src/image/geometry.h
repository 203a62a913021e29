// SPDX-License-Identifier: Apache-2.0
// Which part of the frame goes to which part of the tensor.
#pragma once

#include "image/converter.h"

namespace dvnn::image {

struct Rect {
  int x = 0, y = 0, w = 0, h = 0;
};

struct Geometry {
  Rect source;  // frame pixels
  Rect target;  // tensor pixels
  Transform transform() const;
};

/// Applies a resize rule; pixel aspect ratio counts where the aspect is kept.
Geometry plan_geometry(const FrameFormat& frame, int tensor_w, int tensor_h, ResizeRule rule);

/// One output sample of bilinear resampling along an axis: two source indices, 11-bit weights.
struct Tap {
  int first = 0, second = 0;
  int first_weight = 0, second_weight = 0;
};

constexpr int kWeightBits = 11;

/// Taps along an axis of `source_size` samples from `source_start` on, scaled to `target_size`,
/// with OpenCV's sample centres, rounding and edges (imgproc resize, INTER_LINEAR). Chroma planes:
/// `subsampling` 2 and `siting`, the position of chroma sample 0 in luma samples; `plane_size` is
/// the plane's own size.
struct AxisPlan {
  int source_start = 0, source_size = 0, target_size = 0;
  int subsampling = 1, plane_size = 0;
  double siting = 0;
  bool horizontal = true;
};
void plan_taps(const AxisPlan& plan, Tap* taps);

}  // namespace dvnn::image
