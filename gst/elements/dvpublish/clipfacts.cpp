// SPDX-License-Identifier: Apache-2.0
#include "elements/dvpublish/clipfacts.h"

#include <string>
#include <utility>

#include "elements/dvpublish/framefacts.h"

namespace dvnn::gst {
namespace {

std::optional<uint64_t> time_field(const GstStructure* fields, const char* name) {
  const guint64 time = uint64_field(fields, name, GST_CLOCK_TIME_NONE);
  return time == GST_CLOCK_TIME_NONE ? std::nullopt : std::optional<uint64_t>(time);
}

std::string text_of(const GstStructure* fields, const char* name) {
  const gchar* text = gst_structure_get_string(fields, name);
  return text ? text : "";
}

const GstStructure* structure_field(const GstStructure* fields, const char* name) {
  const GValue* value = gst_structure_get_value(fields, name);
  return value && GST_VALUE_HOLDS_STRUCTURE(value) ? gst_value_get_structure(value) : nullptr;
}

}  // namespace

publish::ClipFacts clip_facts(const GstStructure* fields) {
  publish::ClipFacts facts;
  facts.state = text_of(fields, "state");
  facts.file = text_of(fields, "location");
  facts.problem = text_of(fields, "problem");
  facts.clip = uint64_field(fields, "clip", 0);
  facts.duration = uint64_field(fields, "duration", 0);
  facts.before = uint64_field(fields, "before", 0);
  facts.bytes = uint64_field(fields, "bytes", 0);
  facts.lost = uint64_field(fields, "lost", 0);
  gboolean complete = TRUE;
  gst_structure_get_boolean(fields, "complete", &complete);
  facts.complete = complete;
  const GValue* events = gst_structure_get_value(fields, "events");
  if (!events || !GST_VALUE_HOLDS_LIST(events)) return facts;
  for (guint i = 0; i < gst_value_list_get_size(events); ++i) {
    const GValue* item = gst_value_list_get_value(events, i);
    if (!GST_VALUE_HOLDS_STRUCTURE(item)) continue;
    const GstStructure* told = gst_value_get_structure(item);
    publish::ClipEvent event{event_facts(told), uint64_field(told, "at", 0)};
    event.event.kind = text_of(told, "kind");
    facts.events.push_back(std::move(event));
  }
  return facts;
}

publish::Times clip_times(const GstStructure* fields) {
  publish::Times times;
  times.pts = time_field(fields, "timestamp");
  times.stream_time = time_field(fields, "stream-time");
  gint64 utc = 0;
  gboolean reference = FALSE;
  gst_structure_get_int64(fields, "utc-ns", &utc);
  gst_structure_get_boolean(fields, "utc-from-reference", &reference);
  times.utc_ns = utc;
  times.from_reference = reference;
  return times;
}

std::optional<publish::Picture> clip_picture(const GstStructure* fields) {
  const GstStructure* part = structure_field(fields, "picture");
  if (!part) return std::nullopt;
  publish::Picture picture;
  picture.of_frame = true;
  picture.file = text_of(part, "location");
  gst_structure_get_int(part, "width", &picture.width);
  gst_structure_get_int(part, "height", &picture.height);
  picture.pts = time_field(part, "timestamp");
  if (picture.file.empty() || picture.width < 1 || picture.height < 1) return std::nullopt;
  return picture;
}

}  // namespace dvnn::gst
