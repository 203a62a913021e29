// SPDX-License-Identifier: Apache-2.0
// Estimates the camera's motion from what all objects do alike: from the distances of detections to
// where their tracks were expected.
#pragma once

#include <vector>

#include "motion/affine.h"
#include "track/association.h"

namespace dvnn::track {

/// Estimates a shift, a growth and a rotation that all tracks share. It learns how much the
/// stream's camera moves, so that moving objects under a fixed camera are not mistaken for camera
/// motion.
class CommonMotion {
 public:
  void begin() { matches_.clear(); }
  /// Adds a track's expected centre, its detection's distance from there, and the variances of
  /// that.
  void add(double x, double y, double off_x, double off_y, double variance_x, double variance_y);
  /// Returns the part of the common motion that the camera probably made; the identity if there are
  /// too few detections.
  motion::Affine solve();
  /// Widens the slack of expected boxes by how far the camera may have moved.
  void widen(std::vector<Candidate>* expected) const;
  /// Forgets everything learned about the camera.
  void clear() {
    for (Kind* kind : {&shifts_[0], &shifts_[1], &growth_, &turn_}) *kind = {};
  }

 private:
  static constexpr unsigned kGuessed = 5;  // weight in frames of the initial guess, no motion

  struct Match {
    double at[2], off[2], weight[2], root[2];  // along x and y; root is the square root of weight
  };
  struct Off {
    double off, weight, root;
  };
  struct Estimate {
    double value = 0;
    double error = 1;  // its variance
  };
  // One kind of camera motion: its variance, and the number of frames that it is learned from.
  struct Kind {
    double variance = 0;
    unsigned frames = kGuessed;

    double camera_part(const Estimate& estimate);
  };

  void find_middle();
  double median_of_offs(double half);
  Estimate shift_of(int axis, double growth, double turn);
  Estimate slope_of(bool turns, const Estimate shifts[2], double guess, int passes) const;

  std::vector<Match> matches_;
  std::vector<Off> offs_;
  double middle_[2] = {};  // centre of growth and rotation
  Kind shifts_[2], growth_, turn_;
};

}  // namespace dvnn::track
