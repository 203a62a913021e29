// SPDX-License-Identifier: Apache-2.0
#include "elements/dvpublish/framefacts.h"

#include "elements/dvpublish/publishsettings.h"
#include "elements/dvzones/zonereport.h"
#include "meta/objectvalue.h"
#include "times.h"

namespace dvnn::gst {
namespace {

const char* state_name(GstDvPassState state) {
  switch (state) {
    case GST_DV_PASS_INFERRED:
      return "inferred";
    case GST_DV_PASS_SKIPPED:
      return "skipped";
    case GST_DV_PASS_PREDICTED:
      return "predicted";
  }
  return "skipped";
}

// Fields of a meta are anybody's to set.
std::string text_or_none(const gchar* text) {
  return text ? text : "";
}

std::string text_field(const GstStructure* fields, const char* name) {
  return text_or_none(gst_structure_get_string(fields, name));
}

double double_field(const GstStructure* fields, const char* name) {
  gdouble value = 0;
  gst_structure_get_double(fields, name, &value);
  return value;
}

image::Corners box_field(const GstStructure* fields) {
  return {double_field(fields, "x0"), double_field(fields, "y0"), double_field(fields, "x1"),
          double_field(fields, "y1")};
}

std::vector<publish::ZoneCount> counts_of(const GstStructure* fields, const char* list,
                                          const std::vector<const char*>& names) {
  std::vector<publish::ZoneCount> counts;
  const GValue* all = gst_structure_get_value(fields, list);
  if (!all || !GST_VALUE_HOLDS_LIST(all)) return counts;
  for (guint i = 0; i < gst_value_list_get_size(all); ++i) {
    const GValue* item = gst_value_list_get_value(all, i);
    if (!GST_VALUE_HOLDS_STRUCTURE(item)) continue;
    const GstStructure* one = gst_value_get_structure(item);
    publish::ZoneCount count;
    count.name = text_field(one, "name");
    for (const char* name : names) count.numbers.emplace_back(name, uint64_field(one, name, 0));
    count.labels = counts_of(one, "labels", names);
    gboolean occupied = FALSE;
    if (gst_structure_get_boolean(one, "occupied", &occupied)) count.occupied = occupied;
    guint64 since = 0;
    if (gst_structure_get_uint64(one, "since", &since)) count.since = since;
    counts.push_back(std::move(count));
  }
  return counts;
}

std::vector<publish::Distance> distances_of(const GstStructure* counts) {
  std::vector<publish::Distance> distances;
  const GValue* all = gst_structure_get_value(counts, "distances");
  if (!all || !GST_VALUE_HOLDS_LIST(all)) return distances;
  for (guint i = 0; i < gst_value_list_get_size(all); ++i) {
    const GValue* item = gst_value_list_get_value(all, i);
    if (!GST_VALUE_HOLDS_STRUCTURE(item)) continue;
    const GstStructure* pair = gst_value_get_structure(item);
    distances.push_back({uint64_field(pair, "track-id", 0), uint64_field(pair, "other-id", 0),
                         double_field(pair, "distance"), double_field(pair, "deviation")});
  }
  return distances;
}

publish::ZoneCounts counts_in(const GstStructure* counts) {
  return {counts_of(counts, "areas", {"inside", "entered", "left"}),
          counts_of(counts, "lines", {"forward", "backward"})};
}

// What dvzones has attached to the frame; null: nothing.
const GstStructure* counts_at(GstBuffer* frame) {
  GstCustomMeta* meta = gst_buffer_get_custom_meta(frame, kZonesMeta);
  if (!meta) return nullptr;
  const GValue* value = gst_structure_get_value(gst_custom_meta_get_structure(meta), "counts");
  return value && GST_VALUE_HOLDS_STRUCTURE(value) ? gst_value_get_structure(value) : nullptr;
}

std::optional<uint64_t> valid(GstClockTime time) {
  if (!GST_CLOCK_TIME_IS_VALID(time)) return std::nullopt;
  return time;
}

GstCaps* reference(const char* name) {
  GstCaps* caps = gst_caps_new_empty_simple(name);
  GST_MINI_OBJECT_FLAG_SET(caps, GST_MINI_OBJECT_FLAG_MAY_BE_LEAKED);
  return caps;
}

}  // namespace

guint64 uint64_field(const GstStructure* fields, const char* name, guint64 otherwise) {
  guint64 value = otherwise;
  gst_structure_get_uint64(fields, name, &value);
  return value;
}

std::optional<publish::ZoneCounts> zone_counts(GstBuffer* frame) {
  const GstStructure* counts = counts_at(frame);
  if (!counts) return std::nullopt;
  return counts_in(counts);
}

publish::FrameFacts frame_facts(GstBuffer* frame, guint details, bool only_agreed) {
  publish::FrameFacts facts;
  const GstDvObjectsMeta* meta = gst_buffer_get_dv_objects_meta(frame);
  if (meta) {
    for (guint i = 0; i < gst_dv_objects_meta_get_n_passes(meta); ++i) {
      const GstDvPass* pass = gst_dv_objects_meta_get_pass(meta, i);
      facts.passes.push_back({text_or_none(pass->network), state_name(pass->state)});
    }
    const guint objects = gst_dv_objects_meta_get_n_objects(meta);
    facts.objects.reserve(objects);
    for (guint i = 0; i < objects; ++i) {
      facts.objects.emplace_back();
      objects::Object& object = facts.objects.back().object;
      read_object(*gst_dv_objects_meta_get_object(meta, i), meta, details, &object);
      if (only_agreed && !objects::keep_agreed(&object)) facts.objects.pop_back();
    }
  }
  if (const GstStructure* counts = counts_at(frame)) {
    facts.counts = counts_in(counts);
    facts.distances = distances_of(counts);
  }
  return facts;
}

publish::EventFacts event_facts(const GstStructure* fields) {
  publish::EventFacts facts;
  facts.kind = text_field(fields, "event");
  facts.area = text_field(fields, "area");
  facts.line = text_field(fields, "line");
  facts.label = text_field(fields, "label");
  facts.direction = text_field(fields, "direction");
  facts.track_id = uint64_field(fields, "track-id", 0);
  if (gst_structure_has_field(fields, "duration")) {
    facts.duration = uint64_field(fields, "duration", 0);
  }
  guint inside = 0;
  if (gst_structure_get_uint(fields, "inside", &inside)) facts.inside = inside;
  if (gst_structure_has_field_typed(fields, "speed", G_TYPE_DOUBLE)) {
    facts.speed = double_field(fields, "speed");
  }
  if (gst_structure_has_name(fields, "dvnn-identity")) {
    facts.name = text_field(fields, "name");
    facts.stranger = uint64_field(fields, "stranger", 0);
    facts.likeness = double_field(fields, "likeness");
    gboolean before = FALSE;
    if (gst_structure_get_boolean(fields, "before", &before)) facts.before = before;
  }
  guint64 since = 0;
  if (gst_structure_get_uint64(fields, "since", &since)) facts.since = since;
  if (gst_structure_has_field_typed(fields, "distance", G_TYPE_DOUBLE)) {
    facts.distance = publish::Distance{facts.track_id, uint64_field(fields, "other-id", 0),
                                       double_field(fields, "distance"),
                                       double_field(fields, "distance-deviation")};
  }
  return facts;
}

publish::HeatFacts heat_facts(const GstStructure* fields) {
  publish::HeatFacts facts;
  facts.from = uint64_field(fields, "from", 0);
  facts.to = uint64_field(fields, "to", 0);
  facts.unit = text_field(fields, "unit");
  facts.cell = double_field(fields, "cell");
  facts.left_out = double_field(fields, "left-out");
  const GValue* labels = gst_structure_get_value(fields, "labels");
  if (!labels || !GST_VALUE_HOLDS_LIST(labels)) return facts;
  for (guint i = 0; i < gst_value_list_get_size(labels); ++i) {
    const GValue* item = gst_value_list_get_value(labels, i);
    if (!GST_VALUE_HOLDS_STRUCTURE(item)) continue;
    const GstStructure* one = gst_value_get_structure(item);
    publish::HeatLabel label{text_field(one, "name"), double_field(one, "seconds"), {}};
    const GValue* cells = gst_structure_get_value(one, "cells");
    if (cells && GST_VALUE_HOLDS_ARRAY(cells)) {
      const auto number = [&](guint at) {
        const GValue* value = gst_value_array_get_value(cells, at);
        return G_VALUE_HOLDS_DOUBLE(value) ? g_value_get_double(value) : 0;
      };
      for (guint k = 0; k + 2 < gst_value_array_get_size(cells); k += 3) {
        label.cells.push_back({number(k), number(k + 1), number(k + 2)});
      }
    }
    facts.labels.push_back(std::move(label));
  }
  return facts;
}

publish::TrackFacts track_facts(const GstStructure* fields) {
  publish::TrackFacts facts;
  facts.ended = gst_structure_has_name(fields, "dvnn-track-ended");
  facts.track_id = uint64_field(fields, "track-id", 0);
  facts.network = text_field(fields, "network");
  facts.label = text_field(fields, "label");
  gst_structure_get_int(fields, "class-id", &facts.class_id);
  facts.first = uint64_field(fields, "first", 0);
  facts.last = uint64_field(fields, "last", 0);
  if (!facts.ended) {
    facts.confidence = double_field(fields, "confidence");
    facts.box = box_field(fields);
    return facts;
  }
  guint detections = 0;
  if (gst_structure_get_uint(fields, "detections", &detections)) facts.detections = detections;
  const GValue *path = gst_structure_get_value(fields, "path"),
               *times = gst_structure_get_value(fields, "path-times");
  if (path && times && GST_VALUE_HOLDS_ARRAY(path) && GST_VALUE_HOLDS_ARRAY(times)) {
    const guint count = MIN(gst_value_array_get_size(path) / 2, gst_value_array_get_size(times));
    for (guint i = 0; i < count; ++i) {
      facts.path.push_back({{g_value_get_double(gst_value_array_get_value(path, 2 * i)),
                             g_value_get_double(gst_value_array_get_value(path, 2 * i + 1))},
                            g_value_get_uint64(gst_value_array_get_value(times, i))});
    }
  }
  const GValue* view = gst_structure_get_value(fields, "best-view");
  if (view && GST_VALUE_HOLDS_STRUCTURE(view)) {
    const GstStructure* best = gst_value_get_structure(view);
    facts.best_view = publish::BestView{uint64_field(best, "timestamp", 0),
                                        double_field(best, "confidence"), box_field(best)};
  }
  return facts;
}

publish::Times frame_times(GstBuffer* frame, const GstSegment& segment) {
  constexpr gint64 kMicrosecond = 1000;
  constexpr guint64 kFrom1900To1970 = G_GUINT64_CONSTANT(2208988800) * GST_SECOND;
  static GstCaps* const ntp = reference("timestamp/x-ntp");
  static GstCaps* const unix_time = reference("timestamp/x-unix");
  publish::Times times;
  times.pts = valid(GST_BUFFER_PTS(frame));
  times.stream_time = valid(stream_time(segment, frame));
  times.utc_ns = g_get_real_time() * kMicrosecond;
  const GstReferenceTimestampMeta* meta = gst_buffer_get_reference_timestamp_meta(frame, ntp);
  if (meta && GST_CLOCK_TIME_IS_VALID(meta->timestamp)) times.ntp = meta->timestamp;
  if (times.ntp && *times.ntp >= kFrom1900To1970) {
    times.utc_ns = static_cast<gint64>(*times.ntp - kFrom1900To1970);
    times.from_reference = true;
    return times;
  }
  meta = gst_buffer_get_reference_timestamp_meta(frame, unix_time);
  if (meta && meta->timestamp <= G_MAXINT64) {
    times.utc_ns = static_cast<gint64>(meta->timestamp);
    times.from_reference = true;
  }
  return times;
}

}  // namespace dvnn::gst
