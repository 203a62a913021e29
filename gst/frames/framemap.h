// SPDX-License-Identifier: Apache-2.0
// A video frame that the CPU reads, or draws on, and checks that its memory is as large as its
// format says.
#pragma once

#include <gst/video/video.h>

#include "base/result.h"

namespace dvnn::gst {

/// Maps a video frame for its own lifetime. Strides and offsets are those of the frame's
/// GstVideoMeta. A field of interlace-mode=alternate is mapped as picture_info() describes it. The
/// owners of DMA-BUFs are notified when the CPU's access begins and ends, so that they keep caches
/// coherent.
class VideoFrameMap {
 public:
  /// `info`: the frame's caps. `flags`: GST_MAP_READ or GST_MAP_READWRITE.
  VideoFrameMap(const GstVideoInfo& info, GstBuffer* buffer, GstMapFlags flags);
  ~VideoFrameMap();
  VideoFrameMap(const VideoFrameMap&) = delete;
  VideoFrameMap& operator=(const VideoFrameMap&) = delete;

  bool ok() const { return ok_; }
  const GstVideoFrame& frame() const { return frame_; }
  GstVideoFrame* operator->() { return &frame_; }
  GstVideoFrame* get() { return &frame_; }

 private:
  bool map(const GstVideoInfo& info);
  bool map_planes(const GstVideoInfo& info, GstVideoMeta* meta);
  void sync(guint64 which) const;

  GstBuffer* buffer_;
  GstMapFlags flags_;
  GstVideoFrame frame_{};
  bool ok_;
};

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
