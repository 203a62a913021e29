// SPDX-License-Identifier: Apache-2.0
// What a tracker learns about its detector and about the objects of each class: the error of boxes,
// how much places and sizes change, shapes, how fast objects enter over the frame's edge, and how
// often the detector misses one.
#pragma once

#include <cstdint>
#include <vector>

#include "track/frame_edge.h"
#include "track/kalman.h"

namespace dvnn::track {

/// Estimates how much the edges of a track's boxes tremble. Real paths bend slowly: an edge that
/// bends to one side in a frame and back in the next one is noise.
class Tremor {
 public:
  void clear() { seen_ = 0; }
  /// Takes the next box. Returns this frame's estimate of the variance of an edge that the frame
  /// does not cut, in pixels^2. It is unbiased, so it may be negative. NaN if there are too few
  /// boxes at even intervals.
  double add(int64_t time, const image::Corners& box, const Cuts& cuts);

 private:
  int64_t time_ = 0, interval_ = 0;
  double edges_[4] = {}, steps_[4] = {}, bends_[4] = {};
  int seen_ = 0;
};

/// Distance of a detection from where its track was expected: centre, width and height, in standard
/// deviations of filter and detector together. 0 if an edge of the frame cuts the box on that axis.
struct Surprise {
  double of[4] = {};
};

/// Running mean and deviation of cosine similarities.
class Likenesses {
 public:
  Likenesses(double mean, double deviation) : mean_(mean), variance_(deviation * deviation) {}
  void see(double likeness);
  double mean() const { return mean_; }
  double deviation() const;

 private:
  double mean_, variance_;
  unsigned count_ = 20;  // weight of the initial guess
};

/// A mean, and the variance of single values around it.
struct Spread {
  double mean, variance;
};

class Learned {
 public:
  /// Learns the detector's error from a box that continues a track, whose filter is `expected`:
  /// from its width and height, unless the frame's edge cuts them.
  void see(const BoxFilter& expected, const image::Corners& box, const Cuts& cuts);
  /// Learns from what Tremor::add() returned for a box of `size` pixels (square root of the area).
  void see_tremor(double variance, double size);
  /// Learns the shape of a class from a box that the frame's edge does not cut.
  void see_whole(int class_id, const image::Corners& box);
  /// Learns the push of a class from two successive surprises of a track. A filter that knows the
  /// right noise has independent ones. Surprises of the same sign mean that it lags behind, those
  /// of opposite signs that it follows noise (Mehra, 1970).
  void see_surprises(int class_id, const Surprise& before, const Surprise& now);
  /// Learns from the difference between the logarithm of a height and that of the last second's
  /// usual height.
  void see_usual_height(int class_id, double off);
  /// Learns the detector's log-odds for correct detections.
  void see_sure(double log_odds);
  /// Learns whether a detection that began a track was real: confirmed by others, or dropped as
  /// false.
  void see_start(bool real);
  /// Learns how often looks miss objects that are there: whether any look missed this one.
  void see_look(bool missed);
  /// Learns whether a detection's class differs from its track's.
  void see_label(bool flips);
  /// Learn from the similarity of embeddings of one object, and of two different ones.
  void see_own_look(double likeness) { own_looks_.see(likeness); }
  void see_other_look(double likeness) { other_looks_.see(likeness); }
  /// Learns whether the first look that missed a track of `hits` detections was a slip, because the
  /// next look showed it again.
  void see_slip(unsigned hits, bool slip);
  /// Learns from a box at the frame's edge whether the detector guesses the hidden part of objects.
  void see_edge(const image::Corners& box, const image::Size& frame);
  /// Learns the speed of an object that entered along an axis (0: x, 1: y), in sizes per second.
  void see_entry(int axis, double speed);

  /// Returns the standard deviation of the edges of detections from frame to frame, in sizes of the
  /// boxes.
  double tremble() const;
  /// Returns the standard deviation of widths and heights for the filter, in sizes. It is never
  /// below the error of the best detectors.
  double deviation() const;
  Push push_of(int class_id) const;
  /// Returns the variance of a height's logarithm around its usual value of the last second.
  double usual_variance(int class_id) const;
  /// Returns how much is subtracted from a detection's log-odds to make them evidence. A detector
  /// that gives 0.98 to nearly all that it finds is in doubt when it gives 0.8.
  double boast() const;
  /// Returns the factor that makes a detection's log-odds evidence, at least 1. A modest detector
  /// gives 0.6 to objects that are surely there.
  double modesty() const;
  /// Returns how much more evidence a track needs than if two of three new tracks were false: the
  /// logarithm of the ratio of odds (Bayes' rule).
  double doubt_of_starts() const;
  /// Returns the evidence of a missed look against a track. It is lower the more often looks miss
  /// objects that are there.
  double absence() const;
  /// Returns the factor for pairs of different classes. It is closer to 1 the more often labels
  /// flip.
  double other_class() const;
  /// Returns how well embeddings tell objects apart, from 0 (not at all) to 1.
  double trust_in_looks() const;
  /// Returns the similarity above which two embeddings are more likely of one object than of two.
  double usual_likeness() const { return (own_looks_.mean() + other_looks_.mean()) / 2; }
  /// Returns the similarity that pairs by appearance alone need: two objects hardly ever reach it,
  /// and one mostly does.
  double least_likeness() const;
  /// Whether a look that misses a track of `hits` detections is more often a slip than an absence.
  bool slips(unsigned hits) const;
  /// Whether the detector's boxes reach beyond the frame, so that its edge cuts none.
  bool is_amodal() const { return beyond_ > kAmodal * at_edge_; }
  /// Returns the width of objects of a class divided by their height, or 0 if none was seen whole.
  double shape_of(int class_id) const;
  /// Returns how fast objects enter along an axis, in sizes per second.
  Spread entry_speed(int axis) const;

 private:
  // Weight, in observations, of the initial guesses: shown boxes follow detections closely, and the
  // filter tolerates large errors.
  static constexpr unsigned kGuessed = 3;
  static constexpr double kGuessedUsual = 0.04;

  struct Class {
    int class_id;
    double ratio = 0;
    unsigned count = 0;  // boxes of which no edge is cut
    Push push;
    double usual = kGuessedUsual;  // variance of the logarithm of heights around usual ones
    unsigned usuals = kGuessed;
  };
  const Class* find(int class_id) const;
  Class* find_or_add(int class_id);

  double length_ = 0.08 * 0.08, edge_ = 0.015 * 0.015;  // variances, in sizes^2
  unsigned lengths_ = kGuessed, edges_ = kGuessed;
  Likenesses own_looks_{0.8, 0.1}, other_looks_{0.2, 0.14};
  double flips_ = 0;  // share of detections whose class differs from their track's
  unsigned labels_ = 20;
  // Mean log-odds of correct detections. The initial guess is a modest detector.
  double sure_ = 1.5;
  unsigned sures_ = 20;
  double false_starts_ = 20.0 / 3, real_starts_ = 10.0 / 3;
  double misses_ = 0.2;  // share of detections before which a look missed the object
  unsigned looks_ = 20;
  // Speed and squared speed of entry, in sizes per second. The initial guess is half of walking
  // speed, as people who stand half outside count, too.
  struct Entries {
    double speed = 0.5, square = 0.75;
    unsigned count = 2;
  };
  Entries entries_[2];
  std::vector<Class> classes_;
  // Counts by the number of a track's detections. The initial guess is that a missed look is an
  // absence.
  struct Slips {
    double slips = 1, all = 2.5;
  };
  static constexpr size_t kAges = 4;
  Slips slips_[kAges];
  // Share of boxes at the edge that reach beyond it by a tenth of their size, above which chance or
  // tremor no longer explain them.
  static constexpr double kAmodal = 0.15;
  double beyond_ = 0, at_edge_ = 4;
};

}  // namespace dvnn::track
