// SPDX-License-Identifier: Apache-2.0
#include "elements/dvtrack/trackmessage.h"

#include "elements/valuelists.h"
#include "refs.h"

namespace dvnn::gst {
namespace {

GstStructure* fields_of(const char* name, const track::Track& track, const TrackNames& names,
                        const TrackMoment& moment) {
  return gst_structure_new(name, "timestamp", G_TYPE_UINT64, moment.timestamp, "stream-time",
                           G_TYPE_UINT64, moment.stream_time, "running-time", G_TYPE_UINT64,
                           moment.running_time, "track-id", G_TYPE_UINT64, track.id, "network",
                           G_TYPE_STRING, names.network.c_str(), "class-id", G_TYPE_INT,
                           names.class_id, "label", G_TYPE_STRING, names.label.c_str(), "first",
                           G_TYPE_UINT64, static_cast<guint64>(track.first), "last", G_TYPE_UINT64,
                           static_cast<guint64>(track.seen), nullptr);
}

// Adds the middles of the boxes (x, y, x, y, ...) and their times.
void add_path(const track::Path& path, GstStructure* fields) {
  GValue places = G_VALUE_INIT, times = G_VALUE_INIT;
  g_value_init(&places, GST_TYPE_ARRAY);
  g_value_init(&times, GST_TYPE_ARRAY);
  for (const track::Sighting& point : path.points()) {
    append_number((point.box.x0 + point.box.x1) / 2, &places);
    append_number((point.box.y0 + point.box.y1) / 2, &places);
    append_time(static_cast<guint64>(point.time), &times);
  }
  gst_structure_take_value(fields, "path", &places);
  gst_structure_take_value(fields, "path-times", &times);
}

GstStructure* best_view(const track::Track& track) {
  return gst_structure_new(
      "view", "timestamp", G_TYPE_UINT64, static_cast<guint64>(track.best.time), "confidence",
      G_TYPE_DOUBLE, static_cast<gdouble>(track.best_confidence), "x0", G_TYPE_DOUBLE,
      track.best.box.x0, "y0", G_TYPE_DOUBLE, track.best.box.y0, "x1", G_TYPE_DOUBLE,
      track.best.box.x1, "y1", G_TYPE_DOUBLE, track.best.box.y1, nullptr);
}

}  // namespace

GstMessage* track_started_message(GstElement* element, const track::Track& track,
                                  const TrackNames& names, const TrackMoment& moment) {
  GstStructure* fields = fields_of("dvnn-track-started", track, names, moment);
  const image::Corners& box = track.observed;
  gst_structure_set(fields, "confidence", G_TYPE_DOUBLE, static_cast<gdouble>(track.confidence),
                    "x0", G_TYPE_DOUBLE, box.x0, "y0", G_TYPE_DOUBLE, box.y0, "x1", G_TYPE_DOUBLE,
                    box.x1, "y1", G_TYPE_DOUBLE, box.y1, nullptr);
  return gst_message_new_element(GST_OBJECT(element), fields);
}

GstMessage* track_ended_message(GstElement* element, const track::Track& track,
                                const TrackNames& names, const TrackMoment& moment) {
  GstStructure* fields = fields_of("dvnn-track-ended", track, names, moment);
  gst_structure_set(fields, "detections", G_TYPE_UINT, track.hits, nullptr);
  add_path(track.path, fields);
  const StructurePtr view(best_view(track));
  gst_structure_set(fields, "best-view", GST_TYPE_STRUCTURE, view.get(), nullptr);
  return gst_message_new_element(GST_OBJECT(element), fields);
}

}  // namespace dvnn::gst
