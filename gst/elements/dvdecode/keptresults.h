// SPDX-License-Identifier: Apache-2.0
// Results of a network on objects that are not looked at in every frame: each stays with the
// object's track until the object is looked at again.
#pragma once

#include <gst/gst.h>

#include <unordered_map>

#include "image/view.h"
#include "objects/object.h"

namespace dvnn::gst {

/// Results by track. For one thread at a time.
class KeptResults {
 public:
  /// Begins a frame at time `pts`. Forgets tracks that have not appeared for long, and all of them
  /// if the stream jumps back.
  void begin_frame(GstClockTime pts);
  /// Forgets a track's results, because the network is shown its object again, at `box`.
  void renew(guint64 track, const image::Corners& box);
  /// Adds a result on a track, in frame pixels.
  void add(guint64 track, const objects::Object& found);
  /// Returns the results of a track that was not renewed in this frame, moved to `box`, where its
  /// object is now. Null if there are none. Valid until the next call.
  const objects::Objects* recall(guint64 track, const image::Corners& box);
  bool empty() const { return tracks_.empty(); }
  void reset() { tracks_.clear(); }

 private:
  struct Known {
    objects::Objects parts;  // in fractions of the object's box
    image::Corners box;
    GstClockTime seen = 0;
    guint64 frame = 0;  // the frame in which the network was shown the object
  };

  std::unordered_map<guint64, Known> tracks_;
  objects::Objects moved_;
  guint64 frame_ = 0;
  GstClockTime now_ = 0;
};

}  // namespace dvnn::gst
