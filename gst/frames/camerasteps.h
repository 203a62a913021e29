// SPDX-License-Identifier: Apache-2.0
// Reads the camera's motion from the GstDvCameraMeta of frames. Lost frames do no harm while the
// epoch stays the same.
#pragma once

#include <gst/gst.h>

#include <optional>

#include "motion/affine.h"

namespace dvnn::gst {

/// The camera of one stream. For one thread at a time.
class CameraSteps {
 public:
  /// Returns the motion since the last frame passed here. Nothing if the frame has no meta, or one
  /// with a motion that no camera makes.
  std::optional<motion::Affine> next(GstBuffer* frame);
  void reset() { *this = {}; }

 private:
  guint64 epoch_ = 0;     // 0: none is known
  motion::Affine since_;  // motion since the epoch's first frame
};

}  // namespace dvnn::gst
