// SPDX-License-Identifier: Apache-2.0
// How the camera of a stream moves: as frames say themselves, or as their pixels show. Streaming
// thread only.
#pragma once

#include <gst/video/video.h>

#include <optional>

#include "frames/camerasteps.h"
#include "motion/camera_watch.h"

namespace dvnn::gst {

class FrameCamera {
 public:
  void configure(motion::Camera camera) { watch_.configure(camera); }
  void set_caps(const GstCaps* caps);
  /// The motion since the last frame: as the frame's meta tells it, else as its pixels show it.
  /// Nothing where it is not known. Afterwards the frame has a meta that tells it, if the camera
  /// has ever moved, and how it has moved since the epoch began.
  std::optional<motion::Affine> follow(GstBuffer* frame, GstClockTime time);
  void reset();

 private:
  std::optional<motion::Affine> see(GstBuffer* frame, GstClockTime time);
  void tell(const motion::Affine& motion, GstBuffer* frame);

  motion::CameraWatch watch_;
  CameraSteps told_;
  guint64 epoch_ = 0;     // 0: the camera has not moved yet
  motion::Affine since_;  // since its first frame
  GstVideoInfo info_;
  bool readable_ = false;  // frames have a brightness of bytes
};

}  // namespace dvnn::gst
