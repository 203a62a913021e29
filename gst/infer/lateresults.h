// SPDX-License-Identifier: Apache-2.0
// Results that came when their frames had left. Each waits for the next frame on which its object's
// track is, and goes with it, moved as the object's box has moved.
#pragma once

#include <gst/gst.h>

#include <optional>
#include <unordered_map>

#include "infer/queue/inferitem.h"

namespace dvnn::gst {

/// For one thread at a time. It holds outputs that are copies, never a slot (slotpool.h).
class LateResults {
 public:
  /// A frame leaves, with the results that it has. Results that no frame wanted for long are
  /// forgotten, and all of them where the stream jumps back.
  void begin_frame(GstClockTime pts, const InferItem& frame);
  /// Takes what late work came to. Of two results on a track the one of the later frame counts,
  /// also where that frame kept its own.
  void add(InferItem* work);
  bool empty() const { return waiting_ == 0; }
  /// Takes the result on a track, as a region of a frame where the track's object is at `box`.
  std::optional<Region> take(const Followed& now);
  void reset();

 private:
  struct Track {
    guint64 number = 0;  // of the frame of the newest result
    GstClockTime seen = 0;
    std::optional<Region> result;  // that waits
  };

  std::unordered_map<guint64, Track> tracks_;
  size_t waiting_ = 0;
  GstClockTime now_ = 0;
};

}  // namespace dvnn::gst
