// SPDX-License-Identifier: Apache-2.0
// Checks that a mapped frame's memory is as large as its format says.
#pragma once

#include <gst/video/video.h>

#include "base/result.h"

namespace dvnn::gst {

/// kMalformed if the frame's GstVideoMeta says something else than the caps, `info`: another format
/// or number of planes, or a smaller picture. To be asked before the frame is mapped, which
/// believes it.
Status check_video_meta(const GstVideoInfo& info, GstBuffer* frame);

/// kMalformed if a plane's stride is shorter than a row, or if its memory ends before its last row.
/// Anybody may attach a GstVideoMeta, and GStreamer believes it.
Status check_frame_memory(const GstVideoFrame& frame);

/// kMalformed if a row begins between two pixels. GStreamer's own functions, which draw by vectors
/// of pixels, end the process on such a frame. Frames that only our code reads need no such check.
Status check_frame_alignment(const GstVideoFrame& frame);

}  // namespace dvnn::gst
