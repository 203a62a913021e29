// SPDX-License-Identifier: Apache-2.0
// How the camera of a stream moves: as frames say themselves, or as their pixels show. Streaming
// thread only.
#pragma once

#include <gst/video/video.h>

#include <optional>

#include "motion/camera_watch.h"

namespace dvnn::gst {

/// The motion that a frame's meta tells; nothing where it has none, or one that no camera makes.
std::optional<motion::Affine> told_motion(GstBuffer* frame);

class FrameCamera {
 public:
  void configure(motion::Camera camera) { watch_.configure(camera); }
  void set_caps(const GstCaps* caps);
  /// The motion since the last frame. Nothing where it is not known.
  std::optional<motion::Affine> see(GstBuffer* frame, GstClockTime time);
  void reset() { watch_.reset(); }

 private:
  motion::CameraWatch watch_;
  GstVideoInfo info_;
  bool readable_ = false;  // frames have a brightness of bytes
};

}  // namespace dvnn::gst
