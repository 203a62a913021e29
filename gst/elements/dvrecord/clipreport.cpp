// SPDX-License-Identifier: Apache-2.0
#include "elements/dvrecord/clipreport.h"

#include "base/format.h"
#include "elements/dvrecord/recordsettings.h"
#include "elements/valuelists.h"
#include "refs.h"

namespace dvnn::gst {
namespace {

constexpr guint64 kNone = GST_CLOCK_TIME_NONE;

guint64 time_or_none(const std::optional<uint64_t>& time) {
  return time.value_or(kNone);
}

void add_picture(const publish::Picture& picture, GstStructure* fields) {
  const StructurePtr part(
      gst_structure_new("picture", "location", G_TYPE_STRING, picture.file.c_str(), "width",
                        G_TYPE_INT, picture.width, "height", G_TYPE_INT, picture.height,
                        "timestamp", G_TYPE_UINT64, time_or_none(picture.pts), nullptr));
  gst_structure_set(fields, "picture", GST_TYPE_STRUCTURE, part.get(), nullptr);
}

}  // namespace

GstStructure* clip_structure(const ClipReport& report) {
  GstStructure* fields = gst_structure_new(
      "dvnn-clip", "state", G_TYPE_STRING, report.state, "clip", G_TYPE_UINT64, report.clip,
      "stream", G_TYPE_STRING, printable(report.stream).c_str(), "location", G_TYPE_STRING,
      report.location.c_str(), "timestamp", G_TYPE_UINT64, time_or_none(report.times.pts),
      "stream-time", G_TYPE_UINT64, time_or_none(report.times.stream_time), "running-time",
      G_TYPE_UINT64, report.running_time, "utc", G_TYPE_STRING,
      publish::utc_text(report.times.utc_ns).c_str(), "utc-ns", G_TYPE_INT64,
      gint64{report.times.utc_ns}, "utc-from-reference", G_TYPE_BOOLEAN,
      gboolean{report.times.from_reference}, "duration", G_TYPE_UINT64, report.duration, "before",
      G_TYPE_UINT64, report.before, "bytes", G_TYPE_UINT64, report.bytes, "lost", G_TYPE_UINT64,
      report.lost, "complete", G_TYPE_BOOLEAN, gboolean{report.complete}, "problem", G_TYPE_STRING,
      printable(report.problem).c_str(), nullptr);
  if (report.picture) add_picture(*report.picture, fields);
  GValue events = G_VALUE_INIT;
  g_value_init(&events, GST_TYPE_LIST);
  for (const auto& [event, at] : report.events) {
    GstStructure* copy = gst_structure_copy(event);
    gst_structure_set(copy, "at", G_TYPE_UINT64, at, "kind", G_TYPE_STRING, kind_of(event).c_str(),
                      nullptr);
    append_structure(copy, &events);
  }
  gst_structure_take_value(fields, "events", &events);
  return fields;
}

}  // namespace dvnn::gst
