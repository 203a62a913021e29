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
/// Returns the structure "dvnn-zone-heat".
GstStructure* heat_structure(const zones::HeatReport& report, const GstSegment& segment);
/// Returns the shapes and their counts, as drawn on a frame of size `frame`, and the pairs of
/// tracks that are near each other. `camera`: its motion since the zones were set. `sightings`: the
/// frame's tracks.
std::vector<ZoneShape> shown_shapes(const zones::Zones& zones, const image::Size& frame,
                                    const motion::Affine& camera,
                                    const std::vector<zones::Sighting>& sightings);

}  // namespace dvnn::gst
