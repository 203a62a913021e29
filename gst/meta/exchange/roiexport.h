// SPDX-License-Identifier: Apache-2.0
// Objects as GstVideoRegionOfInterestMeta, for elements and applications that know nothing of ours,
// and their labels as quarks, by which GstAnalytics names classes, too.
#pragma once

#include <gst/video/video.h>

#include "gst/dvnn/gstdvobjectsmeta.h"

namespace dvnn::gst {

/// Returns the id of an object's region: the object's own, cut to the 31 bits of a region's id.
gint roi_id(guint64 object_id);

/// Adds a region of interest to a writable frame. Its type is the object's label, or "object" for
/// long labels and new ones beyond a limit, because types are never freed. A structure "detection"
/// or "classification" holds label, confidence, class-id and the exact box. Objects without a box
/// get no region.
void export_roi(const GstDvObject& object, GstBuffer* frame);

/// Writes an object's track into its region: `track-id` beside the confidence, and a structure
/// "object_id" with the integer `id`, which DL Streamer's elements read.
void export_track(const GstDvObject& object, GstVideoRegionOfInterestMeta* roi);

/// Writes an object's text into its region, if the text was read after the region was made.
void export_text(const GstDvObject& object, GstBuffer* frame);

/// Removes an object's region, if there is one.
void remove_roi(const GstDvObject& object, GstBuffer* frame);

/// Returns whether export_roi() made `roi` from `object`, even if it was scaled since.
bool is_roi_of(const GstVideoRegionOfInterestMeta& roi, const GstDvObject& object);

/// Returns the quark of a label. Quarks are never freed, so labels must not create any number of
/// them: long labels, and new ones beyond a limit, share the quark "object".
GQuark label_quark(const gchar* label);

/// Returns whether label_quark() may have given `label` this quark.
bool is_quark_of(GQuark quark, const gchar* label);

}  // namespace dvnn::gst
