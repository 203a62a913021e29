// SPDX-License-Identifier: Apache-2.0
// The orientation that a stream's tags ask for.
#pragma once

#include <gst/video/video.h>

namespace dvnn::gst {

/// Keeps the orientation; a stream's own tags override those for all streams.
class TaggedDirection {
 public:
  /// Reads the orientation from a TAG event. STREAM_START forgets the stream's own tags.
  void take(GstEvent* event) {
    if (GST_EVENT_TYPE(event) == GST_EVENT_STREAM_START) stream_ = GST_VIDEO_ORIENTATION_AUTO;
    if (GST_EVENT_TYPE(event) != GST_EVENT_TAG) return;
    GstTagList* tags = nullptr;
    GstVideoOrientationMethod method = GST_VIDEO_ORIENTATION_IDENTITY;
    gst_event_parse_tag(event, &tags);
    if (!gst_video_orientation_from_tag(tags, &method)) return;
    (gst_tag_list_get_scope(tags) == GST_TAG_SCOPE_STREAM ? stream_ : global_) = method;
  }

  GstVideoOrientationMethod get() const {
    if (stream_ != GST_VIDEO_ORIENTATION_AUTO) return stream_;
    return global_ != GST_VIDEO_ORIENTATION_AUTO ? global_ : GST_VIDEO_ORIENTATION_IDENTITY;
  }

 private:
  GstVideoOrientationMethod stream_ = GST_VIDEO_ORIENTATION_AUTO;
  GstVideoOrientationMethod global_ = GST_VIDEO_ORIENTATION_AUTO;
};

}  // namespace dvnn::gst
