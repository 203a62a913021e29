// SPDX-License-Identifier: Apache-2.0
// Results of a network on objects that are not looked at in every frame: each stays with the
// object's track until the object is looked at again.
#pragma once

#include <gst/gst.h>

#include <unordered_map>

#include "agree/track_reading.h"
#include "image/view.h"
#include "objects/object.h"

namespace dvnn::gst {

/// Results by track. For one thread at a time.
class KeptResults {
 public:
  /// Begins a frame at time `pts`. Forgets tracks that have not appeared for long, and all of them
  /// if the stream jumps back.
  void begin_frame(GstClockTime pts);
  /// What a look means for further ones at its track.
  enum class State { kOpen, kSettled, kReopened };

  /// Forgets a track's results, because the network is shown its object again, at `box`; what its
  /// looks agree on stays. `late`: it was shown in an earlier frame.
  void renew(guint64 track, const image::Corners& box, bool late);
  /// Adds a result on a track, in frame pixels.
  void add(guint64 track, const objects::Object& found);
  /// Replaces what was added on a track in this frame by what all its looks agree on, and returns
  /// whether more are needed. Further calls in the frame change nothing.
  State agree(guint64 track, const agree::Rules& rules);
  /// Whether the track's results are of this very frame.
  bool is_seen(guint64 track) const;
  /// Returns the results of a track, moved to `box`, where its object is now. Null if there are
  /// none, and for a track that was renewed in this frame, unless its looks are compared. Valid
  /// until the next call.
  const objects::Objects* recall(guint64 track, const image::Corners& box);
  bool empty() const { return tracks_.empty(); }
  void reset() { tracks_.clear(); }

 private:
  struct Known {
    objects::Objects parts;  // in fractions of the object's box
    image::Corners box;
    GstClockTime seen = 0;
    guint64 frame = 0;      // the frame in which the network was shown the object
    bool late = false;      // whether that was for an earlier frame's sake
    bool compared = false;  // whether parts are what several looks agree on
    bool settled = false;   // whether it was said that no more looks are needed
    agree::TrackReading reading;
  };

  std::unordered_map<guint64, Known> tracks_;
  objects::Objects moved_;
  guint64 frame_ = 0;
  GstClockTime now_ = 0;
};

}  // namespace dvnn::gst
