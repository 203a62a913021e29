// SPDX-License-Identifier: Apache-2.0
// Finds out how a stream's camera moves: from the metas of frames, or from their pixels. Streaming
// thread only.
#pragma once

#include <gst/video/video.h>

#include <optional>

#include "frames/camerasteps.h"
#include "frames/frameluma.h"
#include "motion/camera_motion.h"

namespace dvnn::gst {

class FrameCamera {
 public:
  void configure(motion::Camera camera) { watch_.configure(camera); }
  void set_caps(const GstCaps* caps);
  /// Returns the motion since the last frame, from the frame's meta or else from its pixels;
  /// nothing if unknown. Once the camera has moved, the frame gets a meta with this motion and the
  /// motion since the epoch began.
  std::optional<motion::Affine> follow(GstBuffer* frame, GstClockTime time);
  void reset();

 private:
  std::optional<motion::Affine> see(GstBuffer* frame, GstClockTime time);
  void tell(const motion::Affine& motion, GstBuffer* frame);

  motion::CameraWatch watch_;
  CameraSteps told_;
  guint64 epoch_ = 0;     // 0: the camera has not moved yet
  motion::Affine since_;  // motion since the epoch's first frame
  FrameLuma luma_;
};

}  // namespace dvnn::gst
