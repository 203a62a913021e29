// SPDX-License-Identifier: Apache-2.0
#include "motion/camera_watch.h"

#include <algorithm>
#include <cmath>

namespace dvnn::motion {
namespace {

constexpr int64_t kSecond = 1000000000;
constexpr int64_t kGlance = kSecond / 2;  // interval of looks at a standing camera
constexpr int64_t kRest = 5 * kSecond;    // time without motion after which it stands
// Least motion of a corner between two glances, in widths of the frame, that is more than noise.
constexpr double kLeastWay = 0.003;

bool moves(const Affine& motion, const Luma& frame) {
  double farthest = 0;
  for (const double x : {0, frame.width}) {
    for (const double y : {0, frame.height}) {
      double to_x = x, to_y = y;
      motion.apply(&to_x, &to_y);
      farthest = std::max(farthest, std::hypot(to_x - x, to_y - y));
    }
  }
  return farthest > kLeastWay * frame.width;
}

}  // namespace

void CameraWatch::configure(Camera camera) {
  if (camera == camera_) return;
  camera_ = camera;
  reset();
}

void CameraWatch::reset() {
  motion_.reset();
  moving_ = begun_ = false;
}

bool CameraWatch::wants(int64_t time) const {
  if (camera_ == Camera::kStatic) return false;
  if (camera_ == Camera::kMoving || moving_ || !begun_) return true;
  return time < glanced_ || time - glanced_ >= kGlance;
}

// Does not report the first motion of a standing camera: it is known for half a second as a whole,
// but not for single frames. Motion is reported from the next frame on.
bool CameraWatch::see(int64_t time, const Luma& frame, Affine* motion) {
  const bool each = camera_ == Camera::kMoving || moving_;
  const bool known = motion_.see(frame, motion);
  since_ = known ? since_.then(*motion) : Affine();
  if (!begun_ || time < glanced_ || time - glanced_ >= kGlance) {
    if (begun_ && moves(since_, frame)) {
      moved_ = time;
      moving_ = true;
    } else if (time < moved_ || time - moved_ > kRest) {
      moving_ = false;
    }
    since_ = {};
    glanced_ = time;
  }
  begun_ = true;
  if (each) return known;
  *motion = {};
  return false;
}

}  // namespace dvnn::motion
