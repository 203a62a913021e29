// SPDX-License-Identifier: Apache-2.0
// Objects as GstAnalyticsRelationMeta (GStreamer >= 1.24), for upstream's overlays, trackers and
// decoders.
#pragma once

#include <gst/analytics/analytics.h>

#include "gst/dvnn/gstdvobjectsmeta.h"

namespace dvnn::gst {

/// Brings a writable frame's analytics meta up to what its objects meta holds. What is there
/// already is not written again, so it may be called as often as objects are added, or tracks
/// assigned:
///  - a detection with a place: an object detection, its type the label, its rectangle the box's
///    whole pixels, its confidence the object's;
///  - classes of the same, by one network, that follow each other: one classification of them all;
///  - an object with a track: a tracking entry, which the object relates to. Its times are those of
///    this frame, as ours do not tell when a track began;
///  - a part: IS_PART_OF its parent, which CONTAINs it; a classification of a detection instead
///    RELATEs TO it, and it to the classification. These relations stand beside others'.
/// Objects' analytics_id say which entries are theirs. Objects beyond kMaxAnalyticsEntries are left
/// out: the meta keeps a matrix of all entries by all entries.
void export_analytics(GstBuffer* frame);

constexpr gsize kMaxAnalyticsEntries = 1000;

/// True if the entry is what export_analytics() made of `object`, also where it was scaled
/// meanwhile.
bool is_entry_of(GstAnalyticsMtd entry, const GstDvObject& object);

}  // namespace dvnn::gst
