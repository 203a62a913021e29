// SPDX-License-Identifier: Apache-2.0
// The common parts of our metas. The first is their tags, which decide how elements treat them
// (docs/metadata.md has the table). An element that crops, flips or turns a frame copies metas
// without tags, or tagged only "video", as they are, and their positions would then be wrong. Metas
// tagged "size" and "orientation" are handed over to be transformed, or dropped by elements that
// cannot describe what they do.
#pragma once

#include <gst/video/video.h>

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

}  // namespace dvnn::gst
