// SPDX-License-Identifier: Apache-2.0
// What becomes of our metas when their frame changes. Their tags decide how elements treat them
// (docs/metadata.md has the table). An element that crops, flips or turns a frame copies metas
// without tags, or tagged only "video", as they are, and their positions would then be wrong. Metas
// tagged "size" and "orientation" are handed over to be transformed, or dropped by elements that
// cannot describe what they do.
#pragma once

#include <gst/video/video.h>

#include <optional>

#include "image/view.h"

namespace dvnn::gst {

inline const gchar** frame_meta_tags() {
  static const gchar* tags[] = {GST_META_TAG_VIDEO_STR, GST_META_TAG_VIDEO_SIZE_STR,
                                GST_META_TAG_VIDEO_ORIENTATION_STR, nullptr};
  return tags;
}

/// The tags of metas that depend on the pixels themselves, so that elements that convert colours
/// drop or change them, too.
inline const gchar** pixel_meta_tags() {
  static const gchar* tags[] = {GST_META_TAG_VIDEO_STR, GST_META_TAG_VIDEO_SIZE_STR,
                                GST_META_TAG_VIDEO_ORIENTATION_STR,
                                GST_META_TAG_VIDEO_COLORSPACE_STR, nullptr};
  return tags;
}

/// Returns the log category of metas, "dvmeta".
inline GstDebugCategory* meta_debug() {
  static GstDebugCategory* const category =
      _gst_debug_category_new("dvmeta", 0, "Metadata of frames");
  return category;
}

/// A change of a frame, as a meta's transform function gets it, in our terms: where the pixels of a
/// frame went in another frame, and the sizes of both in pixels.
struct FrameChange {
  image::Transform transform;
  image::Size from, to;
  image::Corners shown;  // part of the new frame that the old one's pixels fill
  // False if the new frame may have borders: before GStreamer 1.28 metas learn both sizes and
  // nothing else, so videoscale may have stretched the frame or added borders. `transform` then
  // assumes that it stretched, which is good enough for what need not be exact.
  bool exact = true;
};

/// Returns the change that a transform of `type` ("gst-video-scale", or "gst-video-matrix" of
/// GStreamer 1.28) and its `data` describe. Nothing for a copy, an unknown type, or a change that
/// image::Transform cannot express.
std::optional<FrameChange> frame_change(GQuark type, gpointer data);

/// Returns a mere change of size, as GStreamer before 1.28 describes it.
std::optional<FrameChange> size_change(const image::Size& from, double from_aspect,
                                       const image::Size& to, double to_aspect);

}  // namespace dvnn::gst
