// SPDX-License-Identifier: Apache-2.0
// Events and counts of zones as GStreamer's structures. docs/zones.md lists their fields.
#pragma once

#include <gst/gst.h>

#include "meta/zoneshapesmeta.h"
#include "motion/affine.h"
#include "zones/zones.h"

namespace dvnn::gst {

/// Type of the custom meta that frames carry.
constexpr const char* kZonesMeta = "GstDvZonesMeta";

/// Registers it, once.
void register_zones_meta();

/// The structure "dvnn-zone-event". Times of the segment are those of the event, not of a frame.
GstStructure* event_structure(const zones::Event& event, const zones::Zones& zones,
                              const GstSegment& segment);
/// The structure "dvnn-zone-counts": lists `areas` and `lines`.
GstStructure* counts_structure(const zones::Zones& zones);
/// The shapes as they are drawn on frames of that size, with what they have counted.
ZoneShapes shown_shapes(const zones::Zones& zones, const image::Size& frame,
                        const motion::Affine& camera);

}  // namespace dvnn::gst
