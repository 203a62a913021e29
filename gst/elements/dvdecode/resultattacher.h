// SPDX-License-Identifier: Apache-2.0
// Attaches a network's results to a frame, as objects and as other elements' metas.
#pragma once

#include <gst/gst.h>

#include <string>
#include <unordered_map>
#include <vector>

#include "agree/track_reading.h"
#include "elements/dvdecode/decodesettings.h"
#include "elements/dvdecode/objectsmessage.h"
#include "elements/neighbours.h"
#include "gst/dvnn/gstdvobjectsmeta.h"
#include "gst/dvnn/gstdvtensormeta.h"
#include "image/view.h"
#include "objects/object.h"

namespace dvnn::gst {

/// Results of a network on objects that are not looked at in every frame: each stays with the
/// object's track until the object is looked at again. For one thread at a time.
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

/// For one thread at a time. `message` may be null.
class ResultAttacher {
 public:
  using Regions = std::vector<GstDvTensorMeta*>;

  void begin_frame(GstClockTime pts) { kept_.begin_frame(pts); }
  /// Attaches what `network` has found in `regions` of a writable frame, and earlier results on
  /// objects that it was not shown this time. `refine`: results replace the objects that they were
  /// found in. Returns the number of new results.
  guint attach(GstBuffer* frame, const gchar* network, const Regions& regions,
               const objects::Objects& found, bool refine, const DecodeSettings& settings,
               ObjectsMessage* message);
  /// Attaches earlier results to the objects of a frame whose last pass is by `network`, which was
  /// shown none of them.
  void attach_known(GstBuffer* frame, const gchar* network, const DecodeSettings& settings,
                    ObjectsMessage* message);
  void reset() { kept_.reset(); }
  /// Tracks of the last attach() whose looks were compared, and whether no more looks at them are
  /// needed. Those whose looks have never agreed are left out.
  const std::vector<SettledTrack>& settled() const { return settled_; }

 private:
  void replace(GstBuffer* frame, GstDvObjectsMeta* meta, const Regions& regions);
  void renew(GstDvObjectsMeta* meta, const gchar* network, const Regions& regions);
  void agree(GstDvObjectsMeta* meta, const Regions& regions, const DecodeSettings& settings);
  void recall(GstBuffer* frame, GstDvObjectsMeta* meta, gint pass, const DecodeSettings& settings,
              ObjectsMessage* message);

  KeptResults kept_;
  std::vector<SettledTrack> settled_;
  std::string network_;  // the network whose results are kept
};

}  // namespace dvnn::gst
