// SPDX-License-Identifier: Apache-2.0
// What a tracker learns of its detector and of the things that it finds: how far boxes are off, how
// much things of a class change their ways and sizes, how wide they are for their height, how fast
// they come in over the frame's edge, and whether a look that misses one is a slip.
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

/// How far a detection was from where its track was expected: centre, width and height, in standard
/// deviations of what filter and detector may be off. 0 where an edge of the frame hides it.
struct Surprise {
  double of[4] = {};
};

/// What likenesses of looks are like: cosines.
class Likenesses {
 public:
  Likenesses(double mean, double deviation) : mean_(mean), variance_(deviation * deviation) {}
  void see(double likeness);
  double mean() const { return mean_; }
  double deviation() const;

 private:
  double mean_, variance_;
  unsigned count_ = 20;  // for which the guess counts
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
  /// Learns from two surprises of a track, one soon after the other. Those of a filter that knows
  /// how much things are pushed are independent; if they point the same way, it lags behind, and if
  /// to and fro, it follows noise (Mehra, 1970).
  void see_surprises(int class_id, const Surprise& before, const Surprise& now);
  /// Learns how far the logarithm of a thing's height was from what it mostly was in the last
  /// second.
  void see_usual_height(int class_id, double off);
  /// Learns how surely the detector finds what is there: from the log-odds of a detection that is
  /// surely right.
  void see_sure(double log_odds);
  /// Learns what became of a detection that began a track: whether others made it a sure one, or
  /// it was forgotten, as false ones are.
  void see_start(bool real);
  /// Learns how often looks miss what is surely there: whether any did before this detection.
  void see_look(bool missed);
  /// Learns whether a detection has the class of its track.
  void see_label(bool flips);
  /// Learns how alike looks of one thing are, and those of two.
  void see_own_look(double likeness) { own_looks_.see(likeness); }
  void see_other_look(double likeness) { other_looks_.see(likeness); }
  /// Learns what a look that missed a track of so many detections was: a slip, if the next look
  /// shows it.
  void see_slip(unsigned hits, bool slip);
  /// Learns from a box at the frame's edge or beyond whether the detector guesses what is hidden
  /// there.
  void see_edge(const image::Corners& box, const image::Size& frame);
  /// Learns how fast something went on that had come in along an axis (0 or 1), in sizes per
  /// second.
  void see_entry(int axis, double speed);

  /// How much the edges of detections tremble from frame to frame, in sizes of their boxes.
  double tremble() const;
  /// How far widths and heights are off, as the filter takes it: it forgives what even the best
  /// detectors are off.
  double deviation() const;
  Push push_of(int class_id) const;
  /// The variance of a height's logarithm around what it mostly was in the last second.
  double usual_variance(int class_id) const;
  /// By how much less than its log-odds a detection is evidence: a detector that gives 0.98 to
  /// nearly all that is there doubts what it gives 0.8.
  double boast() const;
  /// By how much more than its log-odds a detection is evidence: a detector may give 0.6 to what is
  /// surely there.
  double modesty() const;
  /// How much more evidence a track needs than where two detections in three that begin one are
  /// false: by the odds of that (Bayes' rule).
  double doubt_of_starts() const;
  /// How much a look that misses a track is evidence against it: the less, the more often looks
  /// miss what is there.
  double absence() const;
  /// The factor by which another class speaks against a pair: the less, the more often labels flip.
  double other_class() const;
  /// How much looks say, from 0 to 1: nothing where those of two things are as alike as those of
  /// one.
  double trust_in_looks() const;
  /// Looks that are more alike are rather of one thing than of two.
  double usual_likeness() const { return (own_looks_.mean() + other_looks_.mean()) / 2; }
  /// Looks that are more alike are of one thing, whatever else is known: as those of two hardly
  /// ever are, and those of one mostly.
  double least_likeness() const;
  /// Whether a look that misses a track of so many detections is a slip more often than not.
  bool slips(unsigned hits) const;
  /// Whether boxes reach beyond the frame: then its edge cuts none.
  bool is_amodal() const { return beyond_ > kAmodal * at_edge_; }
  /// The width of things of a class, divided by their height; 0 if none was seen whole.
  double shape_of(int class_id) const;
  /// How fast things come in along an axis, in sizes per second.
  Spread entry_speed(int axis) const;

 private:
  // The first guesses: boxes that are shown had better follow, and a filter forgive. They count for
  // as many detections.
  static constexpr unsigned kGuessed = 3;
  static constexpr double kGuessedUsual = 0.04;

  struct Class {
    int class_id;
    double ratio = 0;
    unsigned count = 0;  // of whole boxes
    Push push;
    double usual = kGuessedUsual;  // variance around usual heights
    unsigned usuals = kGuessed;
  };
  const Class* find(int class_id) const;
  Class* find_or_add(int class_id);

  double length_ = 0.08 * 0.08, edge_ = 0.015 * 0.015;  // variances, in sizes
  unsigned lengths_ = kGuessed, edges_ = kGuessed;
  Likenesses own_looks_{0.8, 0.1}, other_looks_{0.2, 0.14};
  double flips_ = 0;  // share of detections that have another class than their track
  unsigned labels_ = 20;
  // Log-odds of detections that are surely right. The guess is that of a modest detector.
  double sure_ = 1.5;
  unsigned sures_ = 20;
  double false_starts_ = 20.0 / 3, real_starts_ = 10.0 / 3;
  double misses_ = 0.2;  // share of detections before which looks missed
  unsigned looks_ = 20;
  // Half as fast as people walk: those who stand half outside count, too. The guess counts for two.
  struct Entries {
    double speed = 0.5, square = 0.75;
    unsigned count = 2;
  };
  Entries entries_[2];
  std::vector<Class> classes_;
  // By how long tracks have been seen. The first guess is that a missed look is none.
  struct Slips {
    double slips = 1, all = 2.5;
  };
  static constexpr size_t kAges = 4;
  Slips slips_[kAges];
  // Share of the boxes at the edge that reach beyond it by a tenth of themselves, from where on
  // chance and a trembling detector are no explanation.
  static constexpr double kAmodal = 0.15;
  double beyond_ = 0, at_edge_ = 4;
};

}  // namespace dvnn::track
