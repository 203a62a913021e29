// SPDX-License-Identifier: Apache-2.0
// Objects as GstVideoRegionOfInterestMeta, for elements and applications that know nothing of ours.
#pragma once

#include <gst/video/video.h>

#include "gst/dvnn/gstdvobjectsmeta.h"

namespace dvnn::gst {

/// The id of an object's region: the object's own, in the 31 bits that a region has for it.
gint roi_id(guint64 object_id);

/// Adds a region of interest to a writable frame: its type is the object's label (or "object":
/// types are never freed, so long labels, and new ones beyond many, are none), and a structure
/// "detection" or "classification" holds label, confidence, class-id and the exact box. Objects
/// without a place have no region.
void export_roi(const GstDvObject& object, GstBuffer* frame);

/// Writes an object's track into its region: `track-id` beside the confidence, and the structure
/// "object_id" with the integer `id`, by which DL Streamer's elements know tracks.
void export_track(const GstDvObject& object, GstVideoRegionOfInterestMeta* roi);

/// Writes an object's text, which was read after its region was made, into that region.
void export_text(const GstDvObject& object, GstBuffer* frame);

/// Removes an object's region, if there is one.
void remove_roi(const GstDvObject& object, GstBuffer* frame);

/// True if `roi` is what export_roi() made of `object`, also where it was scaled meanwhile.
bool is_roi_of(const GstVideoRegionOfInterestMeta& roi, const GstDvObject& object);

}  // namespace dvnn::gst
