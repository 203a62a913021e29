// SPDX-License-Identifier: Apache-2.0
// Looks at each frame while the camera moves, and only now and then while it stands.
#pragma once

#include "motion/camera_motion.h"

namespace dvnn::motion {

enum class Camera {
  kStatic,  // never moves: no frame is looked at
  kMoving,  // may move at any time: each frame is looked at
  kAuto,    // decided by looking at frames
};

class CameraWatch {
 public:
  void configure(Camera camera);
  /// Whether the frame at `time`, in nanoseconds, is to be looked at. Others need no luma.
  bool wants(int64_t time) const;
  /// Sets the camera's motion since the last frame. Returns whether it is known.
  bool see(int64_t time, const Luma& frame, Affine* motion);
  void reset();

 private:
  Camera camera_ = Camera::kAuto;
  CameraMotion motion_;
  bool moving_ = false, begun_ = false;
  Affine since_;         // motion since the last glance
  int64_t glanced_ = 0;  // time of the last glance
  int64_t moved_ = 0;    // time of the last glance that saw a motion
};

}  // namespace dvnn::motion
