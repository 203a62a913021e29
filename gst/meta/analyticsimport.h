// SPDX-License-Identifier: Apache-2.0
// What others have found and written as GstAnalyticsRelationMeta (GStreamer >= 1.24).
#pragma once

#include <gst/gst.h>

#include <vector>

#include "image/view.h"

namespace dvnn::gst {

/// One thing that an analytics meta tells. An object detection, or a classification that is none of
/// a detection: of the whole frame, then.
struct AnalyticsObject {
  guint entry = 0;  // its id in the meta
  bool is_detection = true;
  GQuark label = 0;      // the detection's type or, where it has none, its class; 0: none
  float confidence = 0;  // of the same
  image::Corners box;    // detections: frame pixels; of those that are turned, what holds them
  bool is_part = false;  // of the object `whole`
  guint whole = 0;
  guint64 track_id = 0;  // 0: nothing tracks it
};

/// Reads at most `limit` of what others have attached to a frame, in the order of the meta. Entries
/// that are exports of the frame's own objects are left out: they are in the objects meta.
std::vector<AnalyticsObject> read_analytics(GstBuffer* frame, size_t limit);

}  // namespace dvnn::gst
