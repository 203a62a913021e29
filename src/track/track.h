// SPDX-License-Identifier: Apache-2.0
// An object that is followed from frame to frame, also where the frame's edge hides a part of it.
#pragma once

#include <cstdint>
#include <vector>

#include "base/span.h"
#include "objects/object.h"
#include "track/frame_edge.h"
#include "track/kalman.h"
#include "track/learned.h"

namespace dvnn::track {

using Time = int64_t;  // nanoseconds
constexpr Time kMillisecond = 1000000;
constexpr unsigned kSettled = 3;  // detections after which the filter has converged

/// An object that a network has found.
struct Detection {
  image::Corners box;
  int class_id = 0;
  float confidence = 1;         // 0..1
  Span<const float> embedding;  // empty: unknown
};

enum class State : uint8_t {
  kTentative,  // too little evidence yet that it is there
  kConfirmed,  // seen in the last frame that was inferred
  kLost,       // not seen in that frame, but still followed
  kEnded,
};

/// A box and the time at which it was seen.
struct Sighting {
  Time time = 0;
  image::Corners box;
};

/// A track's path in at most kMost points, evenly spaced in time, however long it gets.
class Path {
 public:
  static constexpr size_t kMost = 64;

  Path() { points_.reserve(kMost); }
  void clear();
  void add(Time time, const image::Corners& box);
  /// Returns the points, including the first and the last sighting.
  Span<const Sighting> points() const { return points_; }

 private:
  std::vector<Sighting> points_;
  Time step_ = 0;               // least interval of points
  bool last_is_extra_ = false;  // the last point is closer than step_ to the one before
};

/// Recent places of an object, which give the direction of its motion.
class Heading {
 public:
  void start(Time time, const image::Corners& box);
  void add(Time time, const image::Corners& box);
  void move(const motion::Affine& camera);
  /// Sets the vector to the last sighting from one a quarter to half a second earlier, or from the
  /// first.
  void way(double* x, double* y) const;

 private:
  struct Point {
    Time time = 0;
    double x = 0, y = 0;
  };
  Point far_, near_, last_;
};

/// Mean height of the last second, on which a short partial occlusion has little effect.
class UsualHeight {
 public:
  void clear() { count_ = 0; }
  /// Takes the logarithm of a detection's height, `seconds` after the previous one.
  void add(double logarithm, double seconds);
  void scale(double factor);
  /// Whether there were enough detections for a mean.
  bool is_known() const { return count_ >= kFewest; }
  double logarithm() const { return logarithm_; }

 private:
  static constexpr unsigned kFewest = 5;

  double logarithm_ = 0;
  unsigned count_ = 0;
};

struct Track {
  uint64_t id = 0;  // 0: tentative; tracks are numbered in the order in which they are confirmed
  State state = State::kTentative;
  int class_id = 0;
  float confidence = 0;  // of the last detection
  Time first = 0, seen = 0;
  double evidence = 0;      // the sum of its detections' log-odds
  double class_votes = 0;   // confidence of detections of its class, minus that of others
  unsigned hits = 0;        // number of detections
  unsigned missed = 0;      // inferred frames since the last detection
  bool shown = false;       // whether the last inferred frame has a detection
  bool is_real = false;     // seen too often to be a false detection
  double recent = 0;        // share of the last looks that showed it, fading with age
  image::Corners observed;  // the last detection's box
  image::Corners whole;     // `observed`, with the part that the frame's edge hides
  Cuts cuts;                // of the last detection
  // Edge of the frame per axis over which it entered: -1 the lower one, 1 the higher one. 0: none,
  // or its entry was already learned from.
  int entered[2] = {};
  Tremor tremor;
  // Detections whose width or height no edge of the frame cuts. While 0, the filter's size is a
  // guess.
  unsigned whole_widths = 0, whole_heights = 0;
  BoxFilter filter;  // at the time `seen`, in coordinates of the current frame
  Heading heading;
  UsualHeight usual_height;
  Surprise surprise;             // the last one that was learned from
  Time surprised = 0;            // time of `surprise`, or 0
  std::vector<float> embedding;  // of unit length
  Path path;
  // The most presentable detection: confident, large, and not cut by the frame's edge.
  Sighting best;
  float best_confidence = 0;
  double best_score = -1;
};

/// Returns a box with the part that the frame's edge hides: it keeps its known size, and only its
/// visible edge is measured. `shape`: usual width by height of its class, 0 if unknown.
image::Corners with_hidden_part(image::Corners box, const Cuts& cuts, double shape,
                                const Track& track);
/// Updates a size that is still a guess, as each detection may show more of the object.
void set_unknown_extents(const image::Corners& whole, Track* track);

}  // namespace dvnn::track
