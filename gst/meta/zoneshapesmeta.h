// SPDX-License-Identifier: Apache-2.0
// The areas and lines that dvzones watched in a frame, in frame pixels, for elements that draw
// them. They follow the frame when it is scaled, cropped or turned, as far as GStreamer tells
// metas; otherwise they are dropped.
#pragma once

#include <gst/gst.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace dvnn::gst {

struct ZoneShape {
  std::string name;
  bool is_line = false;
  std::vector<std::pair<double, double>> points;
  guint64 inside = 0;                 // objects inside an area
  guint64 forward = 0, backward = 0;  // crossings of a line in each direction
};

/// Shapes, shared by frames while nothing changes.
using ZoneShapes = std::shared_ptr<const std::vector<ZoneShape>>;

/// Registers the meta; call it before the other functions. dvzones's plugin, which attaches the
/// meta, and dvoverlay's, which draws it, both call it when they are loaded, one at a time. Both
/// use the meta that the first one registered.
void register_zone_shapes();
/// Attaches shapes (not null) to a writable frame, beside those of other elements.
void add_zone_shapes(GstBuffer* frame, const ZoneShapes& shapes);
/// Returns the shapes of all elements.
std::vector<ZoneShapes> get_zone_shapes(GstBuffer* frame);

}  // namespace dvnn::gst
