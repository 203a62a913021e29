// SPDX-License-Identifier: Apache-2.0
// What elements tell and ask each other beside the frames: custom events downstream and upstream,
// and custom queries.
#pragma once

#include <gst/gst.h>

#include <optional>
#include <vector>

#include "refs.h"

namespace dvnn::gst {

/// Sends events that dvtrack and dvzones find downstream, as serialised custom events before the
/// frame with which they were found, or at the end of the stream. Each is sent once and in order,
/// even if frames are doubled or dropped on the way.
class FoundEvents {
 public:
  explicit FoundEvents(GstPad* pad) : pad_(pad) {}

  void tell(const GstStructure* found) {
    EventPtr event(gst_event_new_custom(GST_EVENT_CUSTOM_DOWNSTREAM, gst_structure_copy(found)));
    if (held_) {
      waiting_.push_back(std::move(event));
    } else {
      gst_pad_push_event(pad_, event.release());
    }
  }
  /// Holds events back during a flush, when downstream takes none.
  void hold() { held_ = true; }
  void release() {
    held_ = false;
    for (EventPtr& event : waiting_) gst_pad_push_event(pad_, event.release());
    waiting_.clear();
  }

 private:
  GstPad* const pad_;
  bool held_ = false;
  std::vector<EventPtr> waiting_;
};

/// What dvdecode tells the dvconvert before it by an event: a tracked object needs no more looks,
/// because several agree on what is there, or it needs some again.
struct SettledTrack {
  guint64 track = 0;
  bool settled = false;  // whether no more looks are needed
};

inline constexpr const char* kSettledEvent = "dvnn-settled";

/// Returns a new event of it, which goes upstream.
inline GstEvent* new_settled_event(const SettledTrack& of) {
  return gst_event_new_custom(
      GST_EVENT_CUSTOM_UPSTREAM,
      gst_structure_new(kSettledEvent, "track-id", G_TYPE_UINT64, of.track, "settled",
                        G_TYPE_BOOLEAN, static_cast<gboolean>(of.settled), nullptr));
}

/// Reads such an event. Nothing if it is another one.
inline std::optional<SettledTrack> read_settled_event(GstEvent* event) {
  if (GST_EVENT_TYPE(event) != GST_EVENT_CUSTOM_UPSTREAM) return std::nullopt;
  const GstStructure* fields = gst_event_get_structure(event);
  SettledTrack of;
  gboolean settled = FALSE;
  if (!gst_structure_has_name(fields, kSettledEvent) ||
      !gst_structure_get_uint64(fields, "track-id", &of.track) ||
      !gst_structure_get_boolean(fields, "settled", &settled)) {
    return std::nullopt;
  }
  of.settled = settled;
  return of;
}

// Custom queries by which an element asks those upstream what frames do not tell. Any element may
// answer one with TRUE.

/// Asks whether objects have tracks: dvtrack answers, or any other tracker.
inline constexpr const char* kTrackedQuery = "dvnn-tracked";
/// Asks whether a network's outputs are attached to frames: dvinfer answers.
inline constexpr const char* kInferredQuery = "dvnn-inferred";

/// Sends `query` upstream from `sink`. Returns whether an element answered TRUE.
inline bool ask_upstream(GstPad* sink, const char* query) {
  const QueryPtr asked(gst_query_new_custom(GST_QUERY_CUSTOM, gst_structure_new_empty(query)));
  return gst_pad_peer_query(sink, asked.get());
}

/// Returns whether `query` is the one of that name.
inline bool asks(GstQuery* query, const char* name) {
  return GST_QUERY_TYPE(query) == GST_QUERY_CUSTOM &&
         gst_structure_has_name(gst_query_get_structure(query), name);
}

}  // namespace dvnn::gst
