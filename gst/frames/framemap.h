// SPDX-License-Identifier: Apache-2.0
// A video frame that the CPU reads, or draws on.
#pragma once

#include <gst/video/video.h>

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

}  // namespace dvnn::gst
