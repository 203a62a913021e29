// SPDX-License-Identifier: Apache-2.0
// Reads the camera's motion from the GstDvCameraMeta of frames. Lost frames do no harm while the
// epoch stays the same.
#pragma once

#include <gst/gst.h>

#include <optional>

#include "gst/dvnn/gstdvcamerameta.h"
#include "motion/affine.h"

namespace dvnn::gst {

/// The camera of one stream. For one thread at a time.
class CameraSteps {
 public:
  /// Returns the motion since the last frame passed here. Nothing if the frame has no meta, or one
  /// with a motion that no camera makes.
  std::optional<motion::Affine> next(GstBuffer* frame) {
    const GstDvCameraMeta* meta = gst_buffer_get_dv_camera_meta(frame);
    if (!meta) return {};
    motion::Affine step{meta->xx, meta->xy, meta->x0, meta->yx, meta->yy, meta->y0};
    const motion::Affine since{meta->since_xx, meta->since_xy, meta->since_x0,
                               meta->since_yx, meta->since_yy, meta->since_y0};
    if (meta->epoch != 0 && since.is_plausible()) {
      step = meta->epoch == epoch_ ? since_.inverse().then(since) : since;
      epoch_ = meta->epoch;
      since_ = since;
    }
    if (!step.is_plausible()) return {};
    return step;
  }
  void reset() { *this = {}; }

 private:
  guint64 epoch_ = 0;     // 0: none is known
  motion::Affine since_;  // motion since the epoch's first frame
};

}  // namespace dvnn::gst
