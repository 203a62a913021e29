// SPDX-License-Identifier: Apache-2.0
#include "elements/dvrecord/clipreport.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "base/file.h"
#include "base/format.h"
#include "elements/dvrecord/packet.h"
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

using record::Time;

static std::string cue_time(Time time) {
  constexpr Time kSeconds = 60, kMinutes = 60;
  const Time ms = time / record::kMillisecond, s = ms / 1000;
  return format("%02d:%02d:%02d.%03d", static_cast<int>(s / (kSeconds * kMinutes)),
                static_cast<int>(s / kSeconds % kMinutes), static_cast<int>(s % kSeconds),
                static_cast<int>(ms % 1000));
}

Status begin_cue_file(record::ClipFolder& folder, record::ClipFile* clip) {
  static constexpr std::string_view kHead = "WEBVTT\n\n";
  DVNN_TRY(folder.create_cues(clip));
  return write_all(clip->cues.fd(), kHead.data(), kHead.size());
}

Status append_cue(const record::ClipFile& clip, const record::Unit& unit, Time base) {
  const BufferMap lines(packet_of(unit).buffer.get(), GST_MAP_READ);
  if (!lines.ok()) return {};
  const Time start = std::max<Time>(unit.time - base, 0);
  const Time end = std::max(unit.time - base + unit.duration, start + record::kMillisecond);
  std::string cue = cue_time(start) + " --> " + cue_time(end) + "\n";
  cue.append(reinterpret_cast<const char*>(lines.data()), lines.size()).append("\n\n");
  return write_all(clip.cues.fd(), cue.data(), cue.size());
}

}  // namespace dvnn::gst
