// SPDX-License-Identifier: Apache-2.0
// A track's way over the edges of one shape: which crossings count. A touch is none, nor is what
// trembles within the shape's band; what was crossed between two frames is.
#pragma once

#include <cstddef>
#include <vector>

#include "zones/config.h"

namespace dvnn::zones {

/// The edges of a shape in a frame.
struct Edges {
  std::vector<Point> points;
  bool closed = false;
  double band = 0;  // pixels

  /// Returns whether the point is farther than the band from all edges. Without a band: on none of
  /// them.
  bool is_off(const Point& point) const;
};

class Passage {
 public:
  struct Crossed {
    Time time = 0;
    int direction = 1;  // as Crossing has it
    bool deep = false;  // whether the way was off the edges before it crossed the next one
  };

  /// Moves from one sighting to the next, and calls `counts(crossed)` for each crossing that counts
  /// now, in the order of their times.
  template <typename Counts>
  void move(const Edges& edges, const Point& from, Time begin, const Point& to, Time end,
            Counts counts) {
    const size_t settled = cross(edges, from, begin, to, end);
    for (size_t i = 0; i < settled; ++i) counts(waiting_[i]);
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<ptrdiff_t>(settled));
  }
  /// The way begins on an area's edge, taken to be inside: which it is is known when it has left
  /// the edge.
  void begin_inside(Time time) { waiting_.push_back({time, 1, false}); }

 private:
  struct Found {
    double at = 0;
    int direction = 1;
  };
  void cross_line(const Edges& edges, const Point& from, const Point& to,
                  std::vector<Found>* found);
  size_t cross(const Edges& edges, const Point& from, Time begin, const Point& to, Time end);

  std::vector<Crossed> waiting_;  // until the way has been off the edges
  // While the way is on a line, on which side it came there: 0 if on none, or if it began there.
  int before_ = 0;
};

}  // namespace dvnn::zones
