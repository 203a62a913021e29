// SPDX-License-Identifier: Apache-2.0
// The element messages "dvnn-track-started" and "dvnn-track-ended". docs/tracking.md lists their
// fields.
#pragma once

#include <gst/gst.h>

#include <string>

#include "track/track.h"

namespace dvnn::gst {

/// Names for a message about a track; the tracker itself knows only numbers.
struct TrackNames {
  gint class_id = 0;
  std::string label, network;
};

/// Times of the frame at which a change was found out; all unset if there was no frame.
struct TrackMoment {
  GstClockTime timestamp = GST_CLOCK_TIME_NONE, stream_time = GST_CLOCK_TIME_NONE,
               running_time = GST_CLOCK_TIME_NONE;
};

GstMessage* track_started_message(GstElement* element, const track::Track& track,
                                  const TrackNames& names, const TrackMoment& moment);
GstMessage* track_ended_message(GstElement* element, const track::Track& track,
                                const TrackNames& names, const TrackMoment& moment);

}  // namespace dvnn::gst
