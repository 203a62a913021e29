// SPDX-License-Identifier: Apache-2.0
// The element messages "dvnn-track-started" and "dvnn-track-ended". docs/tracking.md lists their
// fields.
#pragma once

#include <gst/gst.h>

#include <string>

#include "track/track.h"

namespace dvnn::gst {

/// Names in a message about a track that the tracker does not know.
struct TrackNames {
  gint class_id = 0;
  std::string label, network;
};

/// The frame at which it was found out; without a time where no frame was.
struct TrackMoment {
  GstClockTime timestamp = GST_CLOCK_TIME_NONE, stream_time = GST_CLOCK_TIME_NONE,
               running_time = GST_CLOCK_TIME_NONE;
};

GstMessage* track_started_message(GstElement* element, const track::Track& track,
                                  const TrackNames& names, const TrackMoment& moment);
GstMessage* track_ended_message(GstElement* element, const track::Track& track,
                                const TrackNames& names, const TrackMoment& moment);

}  // namespace dvnn::gst
