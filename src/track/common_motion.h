// SPDX-License-Identifier: Apache-2.0
// What all things in a frame do alike is the camera's doing: learned from how far detections are
// from where their tracks were expected.
#pragma once

#include <cstddef>
#include <vector>

#include "motion/affine.h"
#include "track/association.h"

namespace dvnn::track {

/// Estimates a shift that all tracks share, how much nearer all comes, and by how much all turns.
/// How much cameras do so is learned of each stream, so that what things do on their own moves
/// nothing under a camera that stands.
class CommonMotion {
 public:
  void begin() { matches_.clear(); }
  /// Where a track was expected, how far its detection was from there, and the variances of that.
  void add(double x, double y, double off_x, double off_y, double variance_x, double variance_y);
  /// The motion of the frame, as far as it is likely that the camera made it: none where there are
  /// too few detections to tell.
  motion::Affine solve();
  /// Lets expected boxes be as much farther off as the camera may have moved.
  void widen(std::vector<Candidate>* expected) const;
  /// Forgets what is known of the camera.
  void clear() {
    for (Kind* kind : {&shifts_[0], &shifts_[1], &growth_, &turn_}) *kind = {};
  }

 private:
  static constexpr unsigned kGuessed = 5;  // frames for which the first guess counts: none moves

  struct Match {
    double at[2], off[2], weight[2], root[2];  // along x and y; the last is the weight's root
  };
  struct Off {
    double off, weight, root;
  };
  struct Estimate {
    double value = 0;
    double error = 1;  // its variance
  };
  // What cameras do of one kind: its variance, learned in so many frames.
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
  double middle_[2] = {};  // around which things come nearer and turn
  Kind shifts_[2], growth_, turn_;
};

}  // namespace dvnn::track
