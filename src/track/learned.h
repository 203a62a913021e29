// SPDX-License-Identifier: Apache-2.0
// What a tracker learns of its detector and of the things that it finds: how far boxes are off, how
// wide things of a class are for their height, and how fast things come in over the frame's edge.
#pragma once

#include <cstdint>
#include <vector>

#include "track/frame_edge.h"
#include "track/kalman.h"

namespace dvnn::track {

/// Tells how much the edges of a track's boxes tremble. Ways bend slowly: where an edge's way bends
/// to one side in a frame and back in the next one, that is noise.
class Tremor {
 public:
  void clear() { seen_ = 0; }
  /// Takes the next box. Returns the variance of an edge that nothing cuts, in pixels: an estimate
  /// of one frame, which may be negative, as it is right on average; not a number where there are
  /// too few boxes at even times.
  double add(int64_t time, const image::Corners& box, const Cuts& cuts);

 private:
  int64_t time_ = 0, interval_ = 0;
  double edges_[4] = {}, steps_[4] = {}, bends_[4] = {};
  int seen_ = 0;
};

/// A mean, and how far single values are from it.
struct Spread {
  double mean, variance;
};

class Learned {
 public:
  /// Learns from a box that continues a track's, which is `expected`: of its width and height as
  /// far as the frame's edge does not cut them.
  void see(const BoxFilter& expected, const image::Corners& box, const Cuts& cuts);
  /// Learns from what Tremor says of a box of such a size.
  void see_tremor(double variance, double size);
  /// Learns from a box of a class that nothing cuts.
  void see_whole(int class_id, const image::Corners& box);
  /// Learns how fast something went on that had come in along an axis (0 or 1), in sizes per
  /// second.
  void see_entry(int axis, double speed);

  /// How much the edges of detections tremble from frame to frame, in sizes of their boxes.
  double tremble() const;
  /// How far widths and heights are off, as the filter takes it: it forgives what even the best
  /// detectors are off.
  double deviation() const;
  /// The width of things of a class, divided by their height; 0 if none was seen whole.
  double shape_of(int class_id) const;
  /// How fast things come in along an axis, in sizes per second.
  Spread entry_speed(int axis) const;

 private:
  struct Shape {
    int class_id;
    double ratio;
    unsigned count;
  };

  // The first guesses: boxes that are shown had better follow, and a filter forgive. They count for
  // as many detections.
  static constexpr unsigned kGuessed = 3;

  double length_ = 0.08 * 0.08, edge_ = 0.015 * 0.015;  // variances, in sizes
  unsigned lengths_ = kGuessed, edges_ = kGuessed;
  // Half as fast as people walk: those who stand half outside count, too. The guess counts for two.
  struct Entries {
    double speed = 0.5, square = 0.75;
    unsigned count = 2;
  };
  Entries entries_[2];
  std::vector<Shape> shapes_;
};

}  // namespace dvnn::track
