// SPDX-License-Identifier: Apache-2.0
// Estimates the camera's motion from frames: the shift, rotation and growth of what stands still.
// Objects that move on their own may fill less than half of the frame.
//
// Frames are compared with a reference frame rather than the one before, so that a shaking camera
// comes back without drift. If little of the reference is still visible, the last frame replaces
// it.
#pragma once

#include <vector>

#include "motion/affine.h"
#include "motion/luma_pyramid.h"

namespace dvnn::motion {

class CameraMotion {
 public:
  /// Sets the motion since the last frame, in the frame's pixels. Returns whether it is known: not
  /// in the first frame, after a cut, and if there are no corners to follow.
  bool see(const Luma& frame, Affine* motion);
  /// Starts anew, as another scene begins.
  void reset() { begun_ = false; }

 private:
  // A corner of the reference at the finest level, and where it is in the current frame.
  struct Point {
    float x, y, to_x, to_y;
    bool found;
  };

  void choose_points();
  Affine search(const Affine& guess) const;
  bool track(int level, Point* point) const;
  bool match(const Affine& guess, Affine* since, double* share);
  bool fit(Affine* since, double* share);

  LumaPyramid now_, reference_;
  std::vector<Point> points_;
  std::vector<const Point*> found_;
  Affine last_;  // from the reference to the last frame, at the finest level
  Affine step_;  // between the last two frames
  bool begun_ = false;
};

enum class Camera {
  kStatic,  // never moves: no frame is looked at
  kMoving,  // may move at any time: each frame is looked at
  kAuto,    // decided by looking at frames
};

/// Looks at each frame while the camera moves, and only now and then while it stands.
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
