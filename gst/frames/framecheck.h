// SPDX-License-Identifier: Apache-2.0
// Checks that a mapped frame's memory is as large as its format says.
#pragma once

#include <gst/video/video.h>

#include "base/result.h"

namespace dvnn::gst {

/// Checks that the frame's GstVideoMeta agrees with the caps, `info`. kMalformed if it has another
/// format or number of planes, or a smaller picture. Call it before mapping the frame, because
/// mapping believes the meta.
Status check_video_meta(const GstVideoInfo& info, GstBuffer* frame);

/// Checks the memory of a mapped frame. kMalformed if a plane's stride is shorter than a row, or if
/// its memory ends before its last row. Any element may attach a GstVideoMeta, and GStreamer
/// believes it.
Status check_frame_memory(const GstVideoFrame& frame);

/// Checks that rows begin at whole pixels; kMalformed if one does not. GStreamer's own drawing
/// functions, which work on vectors of pixels, end the process on such a frame. Frames that only
/// our code reads need no such check.
Status check_frame_alignment(const GstVideoFrame& frame);

}  // namespace dvnn::gst
