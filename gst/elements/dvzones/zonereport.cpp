// SPDX-License-Identifier: Apache-2.0
#include "elements/dvzones/zonereport.h"

#include <utility>

#include "base/nth.h"
#include "elements/valuelists.h"

namespace dvnn::gst {
namespace {

// In the order of EventKind.
constexpr const char* kEventNames[] = {"enter", "leave", "dwell",     "idle",
                                       "cross", "crowd", "crowd-end", "speeding"};

GstStructure* numbers_of(const char* what, const std::string& name,
                         const zones::AreaCounts& counts) {
  return gst_structure_new(what, "name", G_TYPE_STRING, name.c_str(), "inside", G_TYPE_UINT64,
                           counts.inside, "entered", G_TYPE_UINT64, counts.entered, "left",
                           G_TYPE_UINT64, counts.left, nullptr);
}

GstStructure* numbers_of(const char* what, const std::string& name,
                         const zones::LineCounts& counts) {
  return gst_structure_new(what, "name", G_TYPE_STRING, name.c_str(), "forward", G_TYPE_UINT64,
                           counts.forward, "backward", G_TYPE_UINT64, counts.backward, nullptr);
}

// Returns a shape's counts, with a list of the same for each label.
template <typename State>
GstStructure* counts_of(const char* what, const std::string& name, const State& state) {
  GstStructure* fields = numbers_of(what, name, state.all);
  GValue labels = G_VALUE_INIT;
  g_value_init(&labels, GST_TYPE_LIST);
  for (const auto& [label, counts] : state.by_label) {
    append_structure(numbers_of("label", label, counts), &labels);
  }
  gst_structure_take_value(fields, "labels", &labels);
  return fields;
}

}  // namespace

void register_zones_meta() {
  static const gchar* tags[] = {nullptr};
  if (!gst_meta_get_info(kZonesMeta)) {
    gst_meta_register_custom(kZonesMeta, tags, nullptr, nullptr, nullptr);
  }
}

GstStructure* event_structure(const zones::Event& event, const zones::Zones& zones,
                              const GstSegment& segment) {
  const bool line = event.kind == zones::EventKind::kCross;
  const std::string& name =
      line ? zones.lines()[event.shape].line.name : zones.areas()[event.shape].area.name;
  const auto time = static_cast<guint64>(event.time);
  const bool timed = segment.format == GST_FORMAT_TIME;
  GstStructure* fields = gst_structure_new(
      "dvnn-zone-event", "event", G_TYPE_STRING, nth(kEventNames, event.kind),
      line ? "line" : "area", G_TYPE_STRING, name.c_str(), "timestamp", G_TYPE_UINT64, time,
      "stream-time", G_TYPE_UINT64,
      timed ? gst_segment_to_stream_time(&segment, GST_FORMAT_TIME, time) : GST_CLOCK_TIME_NONE,
      "running-time", G_TYPE_UINT64,
      timed ? gst_segment_to_running_time(&segment, GST_FORMAT_TIME, time) : GST_CLOCK_TIME_NONE,
      "track-id", G_TYPE_UINT64, event.track, "label", G_TYPE_STRING, event.label.c_str(), nullptr);
  if (line) {
    gst_structure_set(fields, "direction", G_TYPE_STRING, event.forward ? "forward" : "backward",
                      nullptr);
  } else {
    gst_structure_set(fields, "duration", G_TYPE_UINT64, static_cast<guint64>(event.duration),
                      "inside", G_TYPE_UINT, static_cast<guint>(event.inside), nullptr);
  }
  if (event.speed) gst_structure_set(fields, "speed", G_TYPE_DOUBLE, *event.speed, nullptr);
  return fields;
}

GstStructure* counts_structure(const zones::Zones& zones) {
  GValue areas = G_VALUE_INIT, lines = G_VALUE_INIT;
  g_value_init(&areas, GST_TYPE_LIST);
  g_value_init(&lines, GST_TYPE_LIST);
  for (const zones::AreaState& state : zones.areas()) {
    append_structure(counts_of("area", state.area.name, state), &areas);
  }
  for (const zones::LineState& state : zones.lines()) {
    append_structure(counts_of("line", state.line.name, state), &lines);
  }
  GstStructure* fields = gst_structure_new_empty("dvnn-zone-counts");
  gst_structure_take_value(fields, "areas", &areas);
  gst_structure_take_value(fields, "lines", &lines);
  return fields;
}

ZoneShapes shown_shapes(const zones::Zones& zones, const image::Size& frame,
                        const motion::Affine& camera) {
  auto shapes = std::make_shared<std::vector<ZoneShape>>();
  const auto add = [&](const zones::Shape& from) -> ZoneShape& {
    ZoneShape shape;
    shape.name = from.name;
    for (auto [x, y] : from.points) {
      if (!from.pixels) x *= frame.width, y *= frame.height;
      camera.apply(&x, &y);
      shape.points.emplace_back(x, y);
    }
    shapes->push_back(std::move(shape));
    return shapes->back();
  };
  for (const zones::AreaState& state : zones.areas()) add(state.area).inside = state.all.inside;
  for (const zones::LineState& state : zones.lines()) {
    ZoneShape& shape = add(state.line);
    shape.is_line = true;
    shape.forward = state.all.forward;
    shape.backward = state.all.backward;
  }
  return shapes;
}

}  // namespace dvnn::gst
