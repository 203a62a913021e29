// SPDX-License-Identifier: Apache-2.0
// Reads from frames how their camera moves. Frames that were lost in between are no matter where
// their epoch is known.
#pragma once

#include <gst/gst.h>

#include <optional>

#include "motion/affine.h"

namespace dvnn::gst {

/// One stream's. What of it is read by one thread.
class CameraSteps {
 public:
  /// The motion since the last frame that was given, as this one's meta tells it: nothing where it
  /// has none, or one that no camera makes.
  std::optional<motion::Affine> next(GstBuffer* frame);
  void reset() { *this = {}; }

 private:
  guint64 epoch_ = 0;     // 0: none is known
  motion::Affine since_;  // since its first frame
};

}  // namespace dvnn::gst
