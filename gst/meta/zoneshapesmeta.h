// SPDX-License-Identifier: Apache-2.0
// The areas and lines that dvzones watched in a frame, in the frame's pixels, for what draws them.
// They follow the frame when it is scaled, cropped or turned, as far as GStreamer tells metas;
// where it does not tell, they are dropped.
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
  guint64 inside = 0;                 // of areas
  guint64 forward = 0, backward = 0;  // of lines
};

/// Frames share them while nothing changes.
using ZoneShapes = std::shared_ptr<const std::vector<ZoneShape>>;

/// Makes the meta known to GStreamer, and is called before all else. The plugins of dvzones, which
/// attaches it, and of dvoverlay, which draws it, both do so as they are loaded, which GStreamer
/// does one at a time: the first one's is used by both.
void register_zone_shapes();
/// Attaches shapes, which are not null, to a writable frame, beside those of other elements.
void add_zone_shapes(GstBuffer* frame, const ZoneShapes& shapes);
/// All that the frame has.
std::vector<ZoneShapes> get_zone_shapes(GstBuffer* frame);

}  // namespace dvnn::gst
