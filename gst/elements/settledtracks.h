// SPDX-License-Identifier: Apache-2.0
// The event by which dvdecode tells the dvconvert before it that a tracked object needs no more
// looks, because several agree on what is there, or that it needs some again.
#pragma once

#include <gst/gst.h>

#include <optional>

namespace dvnn::gst {

struct SettledTrack {
  guint64 track = 0;
  bool settled = false;  // whether no more looks are needed
};

inline constexpr const char* kSettledEvent = "dvnn-settled";

/// Returns a new event, which goes upstream.
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

}  // namespace dvnn::gst
