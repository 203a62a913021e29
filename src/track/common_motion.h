// SPDX-License-Identifier: Apache-2.0
// What all things in a frame do alike is the camera's doing: learned from how far detections are
// from where their tracks were expected.
#pragma once

#include <cstddef>
#include <vector>

#include "motion/affine.h"
#include "track/association.h"

namespace dvnn::track {

/// Estimates a shift that all tracks share. How much cameras shift is learned of each stream, so
/// that what things do on their own moves nothing under a camera that stands.
class CommonMotion {
 public:
  void begin();
  /// How far a detection was from where it was expected, and the variances of that.
  void add(double x, double y, double variance_x, double variance_y);
  /// The shift of the frame, as far as it is likely that the camera made it: none where there are
  /// too few detections to tell.
  motion::Affine solve();
  /// Lets expected boxes be as much farther off as the camera may have moved.
  void widen(std::vector<Candidate>* expected) const;
  /// Forgets what is known of the camera.
  void clear() {
    variances_[0] = variances_[1] = 0;
    frames_ = kGuessed;
  }

 private:
  static constexpr unsigned kGuessed = 5;  // frames for which the first guess counts: none shifts

  struct Off {
    double off, weight;
  };

  double shift_of(double news, std::vector<Off>* offs, double* variance) const;

  std::vector<Off> offs_[2];
  double variances_[2] = {};  // of the camera's shifts
  unsigned frames_ = kGuessed;
};

}  // namespace dvnn::track
