// SPDX-License-Identifier: Apache-2.0
// Trails of tracks in the last while: the way of the middle of each box's lower edge, which dvzones
// counts by. Bounded, however many tracks there are and however long the while is.
#pragma once

#include <gst/gst.h>

#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "draw/figure.h"

namespace dvnn::gst {

/// Streaming thread only. Throws std::bad_alloc.
class Trails {
 public:
  /// The next frame's time, and how much of the past is kept. A time before the last one is another
  /// part of the stream: all trails end.
  void begin(GstClockTime now, GstClockTime length);
  /// A track of a network in that frame.
  void add(gint network, guint64 track, const objects::Point& foot, int color);
  /// Appends the trails, the oldest points of which are thin.
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
