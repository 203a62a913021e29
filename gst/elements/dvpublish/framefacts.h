// SPDX-License-Identifier: Apache-2.0
// Collects what documents say of frames and of what dvtrack and dvzones tell.
#pragma once

#include <gst/gst.h>

#include "gst/dvnn/gstdvobjectsmeta.h"
#include "publish/document.h"

namespace dvnn::gst {

/// Reads what the frame's metas say; `details` are those of dvpublish.
publish::FrameFacts frame_facts(GstBuffer* frame, guint details);

/// Reads the structures "dvnn-zone-event", "dvnn-track-started" and "dvnn-track-ended".
publish::EventFacts event_facts(const GstStructure* fields);
publish::TrackFacts track_facts(const GstStructure* fields);

/// When the frame was, also by the camera's clock where it carries that.
publish::Times frame_times(GstBuffer* frame, const GstSegment& segment);

/// A field of a structure; `otherwise` where there is none.
guint64 uint64_field(const GstStructure* fields, const char* name, guint64 otherwise);

}  // namespace dvnn::gst
