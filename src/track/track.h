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

/// An object that a network has found at a place.
struct Detection {
  image::Corners box;
  int class_id = 0;             // only equal classes are the same thing
  float confidence = 1;         // 0..1
  Span<const float> embedding;  // empty: its looks are not known
};

enum class State : uint8_t {
  kTentative,  // not seen for long enough to be sure that it is there
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

struct Track {
  uint64_t id = 0;  // 0: tentative; tracks are numbered in the order in which they are confirmed
  State state = State::kTentative;
  int class_id = 0;
  float confidence = 0;  // of the last detection
  Time first = 0, seen = 0;
  unsigned hits = 0;        // detections
  unsigned missed = 0;      // inferred frames since the last one
  bool shown = false;       // by the last inferred frame
  image::Corners observed;  // the last detection's box
  image::Corners whole;     // the same with what the frame's edge hides of it
  Cuts cuts;                // of the last detection
  // The edge of the frame, on each axis, over which it came in: -1 the lower one, 1 the higher one,
  // 0 none, or one that the tracker has learned from.
  int entered[2] = {};
  Tremor tremor;
  // On average over the last seconds, of what is whole: what tells it from others. Guessed as long
  // as the frame's edge has always hidden a part.
  double width = 0, height = 0;
  unsigned whole_widths = 0, whole_heights = 0;  // detections that no edge has cut
  BoxFilter filter;                              // at the time `seen`
  std::vector<float> embedding;                  // of unit length
  Path path;
  // The detection that shows it best: surest and largest, and whole rather than cut by the edge.
  Sighting best;
  float best_confidence = 0;
  double best_score = -1;
};

}  // namespace dvnn::track
