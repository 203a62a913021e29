// SPDX-License-Identifier: Apache-2.0
#include "elements/dvzones/zonereport.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/format.h"
#include "base/nth.h"
#include "elements/valuelists.h"

namespace dvnn::gst {
namespace {

// In the order of EventKind.
constexpr const char* kEventNames[] = {"enter",    "leave", "dwell",     "idle",
                                       "cross",    "crowd", "crowd-end", "speeding",
                                       "occupied", "free",  "too-close", "too-close-end"};

// Times of streams are not negative; what is said to have begun before is from the start.
guint64 time_of(zones::Time time) {
  return static_cast<guint64>(std::max<zones::Time>(time, 0));
}

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

GstStructure* counts_of(const zones::AreaState& state) {
  GstStructure* fields = counts_of("area", state.area.name, state);
  if (!state.bay) return fields;
  gst_structure_set(fields, "occupied", G_TYPE_BOOLEAN, state.bay->occupied(), nullptr);
  if (const auto since = state.bay->since()) {
    gst_structure_set(fields, "since", G_TYPE_UINT64, time_of(*since), nullptr);
  }
  return fields;
}

GstStructure* pair_of(const zones::NearPair& pair) {
  return gst_structure_new("pair", "track-id", G_TYPE_UINT64, pair.first, "other-id", G_TYPE_UINT64,
                           pair.second, "distance", G_TYPE_DOUBLE, pair.metres, "deviation",
                           G_TYPE_DOUBLE, pair.deviation, nullptr);
}

void set_times(GstStructure* fields, guint64 time, const GstSegment& segment) {
  const bool timed = segment.format == GST_FORMAT_TIME;
  gst_structure_set(
      fields, "timestamp", G_TYPE_UINT64, time, "stream-time", G_TYPE_UINT64,
      timed ? gst_segment_to_stream_time(&segment, GST_FORMAT_TIME, time) : GST_CLOCK_TIME_NONE,
      "running-time", G_TYPE_UINT64,
      timed ? gst_segment_to_running_time(&segment, GST_FORMAT_TIME, time) : GST_CLOCK_TIME_NONE,
      nullptr);
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
  GstStructure* fields =
      gst_structure_new("dvnn-zone-event", "event", G_TYPE_STRING, nth(kEventNames, event.kind),
                        line ? "line" : "area", G_TYPE_STRING, name.c_str(), nullptr);
  set_times(fields, static_cast<guint64>(event.time), segment);
  gst_structure_set(fields, "track-id", G_TYPE_UINT64, event.track, "label", G_TYPE_STRING,
                    event.label.c_str(), nullptr);
  if (line) {
    gst_structure_set(fields, "direction", G_TYPE_STRING, event.forward ? "forward" : "backward",
                      nullptr);
  } else {
    gst_structure_set(fields, "duration", G_TYPE_UINT64, static_cast<guint64>(event.duration),
                      "inside", G_TYPE_UINT, static_cast<guint>(event.inside), nullptr);
  }
  if (event.speed) gst_structure_set(fields, "speed", G_TYPE_DOUBLE, *event.speed, nullptr);
  if (event.since) {
    gst_structure_set(fields, "since", G_TYPE_UINT64, time_of(*event.since), nullptr);
  }
  if (event.distance) {
    gst_structure_set(fields, "other-id", G_TYPE_UINT64, event.other, "distance", G_TYPE_DOUBLE,
                      *event.distance, "distance-deviation", G_TYPE_DOUBLE,
                      *event.distance_deviation, nullptr);
  }
  return fields;
}

GstStructure* counts_structure(const zones::Zones& zones) {
  GValue areas = G_VALUE_INIT, lines = G_VALUE_INIT;
  g_value_init(&areas, GST_TYPE_LIST);
  g_value_init(&lines, GST_TYPE_LIST);
  for (const zones::AreaState& state : zones.areas()) {
    append_structure(counts_of(state), &areas);
  }
  for (const zones::LineState& state : zones.lines()) {
    append_structure(counts_of("line", state.line.name, state), &lines);
  }
  GstStructure* fields = gst_structure_new_empty("dvnn-zone-counts");
  gst_structure_take_value(fields, "areas", &areas);
  gst_structure_take_value(fields, "lines", &lines);
  if (zones.near().empty()) return fields;
  GValue pairs = G_VALUE_INIT;
  g_value_init(&pairs, GST_TYPE_LIST);
  for (const zones::NearPair& pair : zones.near()) append_structure(pair_of(pair), &pairs);
  gst_structure_take_value(fields, "distances", &pairs);
  return fields;
}

GstStructure* heat_structure(const zones::HeatReport& report, const GstSegment& segment) {
  GValue labels = G_VALUE_INIT;
  g_value_init(&labels, GST_TYPE_LIST);
  for (const zones::LabelHeat& label : report.labels) {
    GValue cells = G_VALUE_INIT;
    g_value_init(&cells, GST_TYPE_ARRAY);
    for (const zones::HeatCell& cell : label.cells) {
      for (const double number :
           {static_cast<double>(cell.column), static_cast<double>(cell.row), cell.seconds}) {
        append_number(number, &cells);
      }
    }
    GstStructure* one = gst_structure_new("label", "name", G_TYPE_STRING, label.label.c_str(),
                                          "seconds", G_TYPE_DOUBLE, label.seconds, nullptr);
    gst_structure_take_value(one, "cells", &cells);
    append_structure(one, &labels);
  }
  GstStructure* fields = gst_structure_new_empty("dvnn-zone-heat");
  set_times(fields, time_of(report.to), segment);
  gst_structure_set(fields, "from", G_TYPE_UINT64, time_of(report.from), "to", G_TYPE_UINT64,
                    time_of(report.to), "unit", G_TYPE_STRING, report.metres ? "metres" : "pixels",
                    "cell", G_TYPE_DOUBLE, report.cell, "left-out", G_TYPE_DOUBLE, report.left_out,
                    nullptr);
  gst_structure_take_value(fields, "labels", &labels);
  return fields;
}

// Adds a line between the feet of each pair of tracks.
static void add_pairs(const zones::Zones& zones, const motion::Affine& camera,
                      const std::vector<zones::Sighting>& sightings,
                      std::vector<ZoneShape>* shapes) {
  if (zones.near().empty()) return;
  std::unordered_map<uint64_t, std::pair<double, double>> feet;
  for (const zones::Sighting& sighting : sightings) {
    double x = (sighting.box.x0 + sighting.box.x1) / 2, y = sighting.box.y1;
    camera.apply(&x, &y);
    feet[sighting.track] = {x, y};
  }
  for (const zones::NearPair& pair : zones.near()) {
    const auto first = feet.find(pair.first), second = feet.find(pair.second);
    if (first == feet.end() || second == feet.end()) continue;
    ZoneShape shape;
    shape.kind = ZoneKind::kPair;
    shape.name = format("%.1f m", pair.metres);
    shape.points = {first->second, second->second};
    shapes->push_back(std::move(shape));
  }
}

std::vector<ZoneShape> shown_shapes(const zones::Zones& zones, const image::Size& frame,
                                    const motion::Affine& camera,
                                    const std::vector<zones::Sighting>& sightings) {
  std::vector<ZoneShape> shapes;
  const auto add = [&](const zones::Shape& from) -> ZoneShape& {
    ZoneShape shape;
    shape.name = from.name;
    for (auto [x, y] : from.points) {
      if (!from.pixels) x *= frame.width, y *= frame.height;
      camera.apply(&x, &y);
      shape.points.emplace_back(x, y);
    }
    shapes.push_back(std::move(shape));
    return shapes.back();
  };
  for (const zones::AreaState& state : zones.areas()) {
    ZoneShape& shape = add(state.area);
    shape.inside = state.all.inside;
    if (state.bay) shape.occupied = state.bay->occupied();
  }
  for (const zones::LineState& state : zones.lines()) {
    ZoneShape& shape = add(state.line);
    shape.kind = ZoneKind::kLine;
    shape.forward = state.all.forward;
    shape.backward = state.all.backward;
  }
  add_pairs(zones, camera, sightings, &shapes);
  return shapes;
}

}  // namespace dvnn::gst
