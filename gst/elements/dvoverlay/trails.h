// SPDX-License-Identifier: Apache-2.0
// Trails of tracks: the path of the middle of each box's lower edge, at which dvzones counts.
// Memory is bounded, whatever the number of tracks and the length of trails.
#pragma once

#include <gst/gst.h>

#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "draw/canvas.h"

namespace dvnn::gst {

/// Streaming thread only. Throws std::bad_alloc.
class Trails {
 public:
  /// Begins a frame at time `now`; trails keep the last `length`. If the time goes back, all trails
  /// end.
  void begin(GstClockTime now, GstClockTime length);
  /// Adds the place of a track of network `network` in that frame.
  void add(gint network, guint64 track, const objects::Point& foot, int color);
  /// Appends the trails, which get thinner towards their oldest points.
  void draw(std::vector<draw::Figure>* figures) const;
  void reset() { trails_.clear(); }

 private:
  struct Step {
    GstClockTime time;
    objects::Point foot;
  };
  struct Trail {
    std::deque<Step> steps;
    int color = 0;
  };

  GstClockTime now_ = 0, length_ = 0;
  std::map<std::pair<gint, guint64>, Trail> trails_;
};

}  // namespace dvnn::gst
