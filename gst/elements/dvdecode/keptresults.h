// SPDX-License-Identifier: Apache-2.0
// Results of a network on objects that are not looked at in every frame: each stays with the
// object's track until the object is looked at again.
#pragma once

#include <gst/gst.h>

#include <unordered_map>

#include "image/view.h"
#include "objects/object.h"

namespace dvnn::gst {

/// For one thread at a time.
class KeptResults {
 public:
  /// Another frame. Tracks that did not appear for long are forgotten, and all of them where the
  /// stream jumps back.
  void begin_frame(GstClockTime pts);
  /// The track's object is looked at, at `box`: what was known of it is not known any more.
  void renew(guint64 track, const image::Corners& box);
  /// Something was found on it, in the frame's coordinates.
  void add(guint64 track, const objects::Object& found);
  /// Returns the results of a track that was not renewed in this frame, moved to where its object
  /// is now. Null if nothing is. It stays until the next call.
  const objects::Objects* recall(guint64 track, const image::Corners& box);
  bool empty() const { return tracks_.empty(); }
  void reset() { tracks_.clear(); }

 private:
  struct Known {
    objects::Objects parts;  // in fractions of the object's box
    image::Corners box;
    GstClockTime seen = 0;
    guint64 frame = 0;  // in which it was looked at
  };

  std::unordered_map<guint64, Known> tracks_;
  objects::Objects moved_;
  guint64 frame_ = 0;
  GstClockTime now_ = 0;
};

}  // namespace dvnn::gst
