// SPDX-License-Identifier: Apache-2.0
// Looks at frames as often as their camera asks for: at each one while it moves, and now and then
// while it stands.
#pragma once

#include "motion/camera_motion.h"

namespace dvnn::motion {

enum class Camera {
  kStatic,  // it never moves: no frame is looked at
  kMoving,  // it may move at any time: each frame is
  kAuto,    // it shows which of both it is
};

class CameraWatch {
 public:
  void configure(Camera camera);
  /// Whether the frame at that time, in nanoseconds, is to be looked at. Others need no luma.
  bool wants(int64_t time) const;
  /// Sets how the camera has moved since the last frame. Returns whether that is known.
  bool see(int64_t time, const Luma& frame, Affine* motion);
  void reset();

 private:
  Camera camera_ = Camera::kAuto;
  CameraMotion motion_;
  bool moving_ = false, begun_ = false;
  Affine since_;         // the motion since the last glance
  int64_t glanced_ = 0;  // when that was
  int64_t moved_ = 0;    // the last at which the camera had moved
};

}  // namespace dvnn::motion
