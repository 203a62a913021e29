// SPDX-License-Identifier: Apache-2.0
// A track's path over the edges of one shape, which decides which crossings count: no touches, no
// tremor within the shape's band, but also crossings between two frames.
#pragma once

#include <cstddef>
#include <vector>

#include "zones/config.h"

namespace dvnn::zones {

/// The edges of a shape in a frame's coordinates.
struct Edges {
  std::vector<Point> points;
  bool closed = false;
  double band = 0;  // pixels

  /// Returns whether the point is farther than the band from all edges; without a band, whether it
  /// is on none of them.
  bool is_off(const Point& point) const;
};

class Passage {
 public:
  struct Crossed {
    Time time = 0;
    int direction = 1;  // see Crossing
    bool deep = false;  // whether the path left the edges before the next crossing
  };

  /// Moves from one sighting to the next. Calls `counts(crossed)` for each crossing that is now
  /// certain, in the order of their times.
  template <typename Counts>
  void move(const Edges& edges, const Point& from, Time begin, const Point& to, Time end,
            Counts counts) {
    const size_t settled = cross(edges, from, begin, to, end);
    for (size_t i = 0; i < settled; ++i) counts(waiting_[i]);
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<ptrdiff_t>(settled));
  }
  /// Begins on an area's edge, as if inside. Whether that counts is decided when the path leaves
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

  std::vector<Crossed> waiting_;  // crossings until the path has left the edges
  // While the path is on a line: the side from which it came; 0 if it is on none or began on it.
  int before_ = 0;
};

}  // namespace dvnn::zones
