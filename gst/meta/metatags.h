// SPDX-License-Identifier: Apache-2.0
// What our metas have in common. First their tags, which decide what elements do with them
// (docs/metadata.md has the table). Metas that say nothing, or "video" alone, are copied blindly by
// elements that crop, flip or turn a frame, and would then tell wrong places. With "size" and
// "orientation" they are handed over to be transformed, or dropped by those elements that cannot
// describe what they do.
#pragma once

#include <gst/video/video.h>

namespace dvnn::gst {

inline const gchar** frame_meta_tags() {
  static const gchar* tags[] = {GST_META_TAG_VIDEO_STR, GST_META_TAG_VIDEO_SIZE_STR,
                                GST_META_TAG_VIDEO_ORIENTATION_STR, nullptr};
  return tags;
}

/// The tags of what belongs to the very pixels: elements that only convert colors change it, too.
inline const gchar** pixel_meta_tags() {
  static const gchar* tags[] = {GST_META_TAG_VIDEO_STR, GST_META_TAG_VIDEO_SIZE_STR,
                                GST_META_TAG_VIDEO_ORIENTATION_STR,
                                GST_META_TAG_VIDEO_COLORSPACE_STR, nullptr};
  return tags;
}

/// The category of what metas have to say, "dvmeta".
inline GstDebugCategory* meta_debug() {
  static GstDebugCategory* const category =
      _gst_debug_category_new("dvmeta", 0, "Metadata of frames");
  return category;
}

}  // namespace dvnn::gst
