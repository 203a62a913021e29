// SPDX-License-Identifier: Apache-2.0
// Estimates from frames how the camera moves: how far, how turned and how much nearer what stands
// still is from one frame to the next. What moves on its own may fill less than half of the frame.
//
// Frames are compared with a reference, not with the one before, so that a camera that shakes comes
// back to where it was without drifting. Where little of the reference is left, the last frame
// becomes the next one.
#pragma once

#include <cstdint>
#include <vector>

#include "motion/affine.h"
#include "motion/luma_pyramid.h"

namespace dvnn::motion {

class CameraMotion {
 public:
  /// Sets how the camera has moved since the last frame, in the frame's pixels. Returns whether
  /// that is known: not in the first frame, after a cut, and where nothing can be followed.
  bool see(const Luma& frame, Affine* motion);
  /// What comes is another scene.
  void reset() { begun_ = false; }

 private:
  // A corner of the reference, at the finest level, and where it went.
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
  Affine step_;  // the last frame's own motion
  bool begun_ = false;
};

}  // namespace dvnn::motion
