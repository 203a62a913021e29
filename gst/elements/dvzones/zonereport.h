// SPDX-License-Identifier: Apache-2.0
// Events and counts of zones as GStreamer's structures. docs/zones.md lists their fields.
#pragma once

#include <gst/gst.h>

#include "meta/zoneshapesmeta.h"
#include "motion/affine.h"
#include "zones/zones.h"

namespace dvnn::gst {

/// Name of the custom meta that frames carry.
constexpr const char* kZonesMeta = "GstDvZonesMeta";

/// Registers the custom meta, once.
void register_zones_meta();

/// Returns the structure "dvnn-zone-event". Its times are those of the event, not of a frame.
GstStructure* event_structure(const zones::Event& event, const zones::Zones& zones,
                              const GstSegment& segment);
/// Returns the structure "dvnn-zone-counts" with the lists `areas` and `lines`.
GstStructure* counts_structure(const zones::Zones& zones);
/// Returns the shapes and their counts, as drawn on a frame of size `frame`. `camera`: its motion
/// since the zones were set.
ZoneShapes shown_shapes(const zones::Zones& zones, const image::Size& frame,
                        const motion::Affine& camera);

}  // namespace dvnn::gst
