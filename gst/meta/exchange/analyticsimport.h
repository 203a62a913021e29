// SPDX-License-Identifier: Apache-2.0
// Reads what other elements have found and written as GstAnalyticsRelationMeta (GStreamer >= 1.24).
#pragma once

#include <gst/gst.h>

#include <vector>

#include "image/view.h"

namespace dvnn::gst {

/// One entry of an analytics meta: an object detection, or a classification that belongs to no
/// detection and thus to the whole frame.
struct AnalyticsObject {
  guint entry = 0;  // its id in the meta
  bool is_detection = true;
  GQuark label = 0;      // the detection's type or, without one, its class; 0: none
  float confidence = 0;  // of the detection or the class
  image::Corners box;    // of a detection, in frame pixels; around a rotated one
  bool is_part = false;  // whether it is part of the object `whole`
  guint whole = 0;
  guint64 track_id = 0;  // 0: nothing tracks it
};

/// Reads up to `limit` entries of other elements, in the meta's order. Entries that are exports of
/// the frame's own objects are left out.
std::vector<AnalyticsObject> read_analytics(GstBuffer* frame, size_t limit);

}  // namespace dvnn::gst
