// SPDX-License-Identifier: Apache-2.0
// One thing that is followed from frame to frame.
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
constexpr unsigned kSettled = 3;  // detections, after which a filter is right

/// An object that a network has found at a place.
struct Detection {
  image::Corners box;
  int class_id = 0;
  float confidence = 1;         // 0..1
  Span<const float> embedding;  // empty: its looks are not known
};

enum class State : uint8_t {
  kTentative,  // not seen often and surely enough to say that it is there
  kConfirmed,  // seen in the last frame that was inferred
  kLost,       // not seen there, but awaited
  kEnded,
};

/// The place where something was at a time.
struct Sighting {
  Time time = 0;
  image::Corners box;
};

/// A track's way in a bounded number of points, evenly spaced in time, however long it gets.
class Path {
 public:
  static constexpr size_t kMost = 64;

  Path() { points_.reserve(kMost); }
  void clear();
  void add(Time time, const image::Corners& box);
  /// The points, the first and the last sighting among them.
  Span<const Sighting> points() const { return points_; }

 private:
  std::vector<Sighting> points_;
  Time step_ = 0;               // least time between two points
  bool last_is_extra_ = false;  // the last point is nearer than that to the one before
};

/// Where something was a while ago, so that the direction in which it goes is known.
class Heading {
 public:
  void start(Time time, const image::Corners& box);
  void add(Time time, const image::Corners& box);
  void move(const motion::Affine& camera);
  /// Sets the way to the last sighting from one a quarter to half a second before, as far as there
  /// is one.
  void way(double* x, double* y) const;

 private:
  struct Point {
    Time time = 0;
    double x = 0, y = 0;
  };
  Point far_, near_, last_;
};

/// How high something mostly was in the last second: what half hides it for a moment hardly counts.
class UsualHeight {
 public:
  void clear() { count_ = 0; }
  /// Takes the logarithm of the next detection's height, `seconds` after the one before.
  void add(double logarithm, double seconds);
  void scale(double factor);
  /// Whether there were enough detections to tell.
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
  double evidence = 0;      // that it is there: the sum of its detections' log-odds
  double class_votes = 0;   // confidence of detections of its class, less that of others
  unsigned hits = 0;        // detections
  unsigned missed = 0;      // inferred frames since the last one
  bool shown = false;       // by the last inferred frame
  bool is_real = false;     // seen too often to be of a false detection
  double recent = 0;        // share of the last looks, of which older ones fade, that showed it
  image::Corners observed;  // the last detection's box
  image::Corners whole;     // the same with what the frame's edge hides of it
  Cuts cuts;                // of the last detection
  // The edge of the frame, on each axis, over which it came in: -1 the lower one, 1 the higher one,
  // 0 none, or one that the tracker has learned from.
  int entered[2] = {};
  Tremor tremor;
  // Detections of which no edge has cut the width, or the height. As long as there is none, what
  // the filter knows of it is a guess.
  unsigned whole_widths = 0, whole_heights = 0;
  BoxFilter filter;  // at the time `seen`, in what the camera shows now
  Heading heading;
  UsualHeight usual_height;
  Surprise surprise;             // the last that the tracker has learned from
  Time surprised = 0;            // when
  std::vector<float> embedding;  // of unit length
  Path path;
  // The detection that shows it best: surest and largest, and whole rather than cut by the edge.
  Sighting best;
  float best_confidence = 0;
  double best_score = -1;
};

}  // namespace dvnn::track
