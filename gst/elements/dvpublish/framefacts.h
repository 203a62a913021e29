// SPDX-License-Identifier: Apache-2.0
// Collects what documents say of frames and of what dvtrack and dvzones tell.
#pragma once

#include <gst/gst.h>

#include <optional>

#include "gst/dvnn/gstdvobjectsmeta.h"
#include "publish/document.h"

namespace dvnn::gst {

/// Reads the frame's metas; `details` is dvpublish's setting.
publish::FrameFacts frame_facts(GstBuffer* frame, guint details, bool only_agreed);

/// Returns the counts that dvzones has attached to the frame.
std::optional<publish::ZoneCounts> zone_counts(GstBuffer* frame);

/// Reads the structures "dvnn-zone-event", "dvnn-zone-heat", "dvnn-identity", "dvnn-track-started"
/// and "dvnn-track-ended".
publish::EventFacts event_facts(const GstStructure* fields);
publish::HeatFacts heat_facts(const GstStructure* fields);
publish::TrackFacts track_facts(const GstStructure* fields);

/// Returns the frame's times, with the camera's clock if the frame carries it.
publish::Times frame_times(GstBuffer* frame, const GstSegment& segment);

/// Returns a field of a structure, or `otherwise` if there is none.
guint64 uint64_field(const GstStructure* fields, const char* name, guint64 otherwise);

}  // namespace dvnn::gst
