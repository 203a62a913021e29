// SPDX-License-Identifier: Apache-2.0
// Objects as GstAnalyticsRelationMeta (GStreamer >= 1.24): ours, for upstream's overlays, trackers
// and decoders, and those that other elements have found and written.
#pragma once

#include <gst/analytics/analytics.h>
#include <gst/gst.h>

#include <vector>

#include "gst/dvnn/gstdvobjectsmeta.h"
#include "image/view.h"

namespace dvnn::gst {

/// Adds to a writable frame's analytics meta whatever its objects meta has and the analytics meta
/// lacks. So it may be called whenever objects are added or tracks assigned. The entries are:
///  - for a detection with a position: an object detection with the label as its type, the box's
///    whole pixels as its rectangle, and the object's confidence;
///  - for consecutive classes of the same object by one network: one classification of them all;
///  - for an object with a track: a tracking entry, which the object relates to. Its times are
///    those of this frame, because our objects do not tell when a track began;
///  - for a part: IS_PART_OF its parent, which CONTAINs it. A classification of a detection instead
///    RELATEs TO it, and the detection to the classification. Relations of others stay.
/// An object's analytics_id says which entry is its own. Objects beyond kMaxAnalyticsEntries are
/// left out, because the meta keeps a matrix of all entries by all entries.
void export_analytics(GstBuffer* frame);

constexpr gsize kMaxAnalyticsEntries = 1000;

/// Returns whether export_analytics() made the entry from `object`, even if it was scaled since.
bool is_entry_of(GstAnalyticsMtd entry, const GstDvObject& object);

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
