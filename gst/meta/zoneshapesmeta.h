// SPDX-License-Identifier: Apache-2.0
// The areas and lines that dvzones watched in a frame, the pairs of tracks that are near each other
// and the heat, in frame pixels, for elements that draw them. They follow the frame when it is
// scaled, cropped or turned, as far as GStreamer tells metas; otherwise they are dropped.
#pragma once

#include <gst/gst.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "image/view.h"

namespace dvnn::gst {

/// Seconds for which tracks were where, in a grid over a part of the frame.
struct HeatGrid {
  struct Label {
    std::string label;
    std::vector<float> seconds;  // rows from the top
  };
  image::Corners place;
  int columns = 0, rows = 0;
  std::vector<Label> labels;
};

enum class ZoneKind : guint8 { kArea, kLine, kPair };

struct ZoneShape {
  std::string name;
  ZoneKind kind = ZoneKind::kArea;
  std::vector<std::pair<double, double>> points;
  guint64 inside = 0;                 // objects inside an area
  guint64 forward = 0, backward = 0;  // crossings of a line in each direction
  std::optional<bool> occupied;       // of an area that is a bay
};

struct ZoneScene {
  std::vector<ZoneShape> shapes;
  std::shared_ptr<const HeatGrid> heat;  // null: none
};

/// What is drawn, shared by frames while nothing changes.
using ZoneShapes = std::shared_ptr<const ZoneScene>;

/// Registers the meta; call it before the other functions. dvzones's plugin, which attaches the
/// meta, and dvoverlay's, which draws it, both call it when they are loaded, one at a time. Both
/// use the meta that the first one registered.
void register_zone_shapes();
/// Attaches shapes (not null) to a writable frame, beside those of other elements.
void add_zone_shapes(GstBuffer* frame, const ZoneShapes& shapes);
/// Returns the shapes of all elements.
std::vector<ZoneShapes> get_zone_shapes(GstBuffer* frame);

}  // namespace dvnn::gst
