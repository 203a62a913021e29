// SPDX-License-Identifier: Apache-2.0
// Results that came after their frames had left. Each waits for the next frame that shows its
// object's track, is attached to it, and moves as the object's box has moved.
#pragma once

#include <gst/gst.h>

#include <optional>
#include <unordered_map>

#include "infer/queue/inferitem.h"

namespace dvnn::gst {

/// The waiting results of one dvinfer. For one thread at a time. Its outputs are copies and hold no
/// slot (slotpool.h).
class LateResults {
 public:
  /// Begins a frame that leaves with the results that it has. Results that have waited for
  /// kForgotten are dropped, and all of them if the stream jumps back or has more than kMostTracks
  /// tracks.
  void begin_frame(GstClockTime pts, const InferItem& frame);
  /// Adds the results of late work. Of two results on a track, that of the later frame counts, also
  /// if that frame left with its own result.
  void add(InferItem* work);
  bool empty() const { return waiting_ == 0; }
  /// Takes the result for the track of `now`, as a region of a frame in which the track's object is
  /// at `now.box`.
  std::optional<Region> take(const Followed& now);
  void reset();

 private:
  struct Track {
    guint64 number = 0;  // number of the frame with the newest result
    GstClockTime seen = 0;
    std::optional<Region> result;  // waits for a frame, if there is one
  };

  std::unordered_map<guint64, Track> tracks_;
  size_t waiting_ = 0;
  GstClockTime now_ = 0;
};

}  // namespace dvnn::gst
