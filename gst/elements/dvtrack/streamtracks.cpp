// SPDX-License-Identifier: Apache-2.0
#include "elements/dvtrack/streamtracks.h"

#include <gst/video/video.h>

#include <algorithm>

#include "base/nth.h"
#include "elements/valuelists.h"
#include "meta/exchange/roiexport.h"
#include "meta/metas.h"
#include "refs.h"

#ifdef DVNN_HAVE_ANALYTICS
#include "meta/exchange/analytics.h"
#endif

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

namespace {

// Bounds, because a stream may name any number of networks and classes.
constexpr size_t kMostNetworks = 16;
constexpr size_t kMostClasses = 4096;
// Most objects of a frame that are followed.
constexpr size_t kMostObjects = 1000;
constexpr int kNoClass = -1;

}  // namespace

void StreamTracks::configure(const TrackSettings& settings) {
  settings_ = settings;
  labels_.set(settings.labels);
  for (const auto& group : groups_) group->tracker.configure(settings_.tracker());
}

void StreamTracks::move(const motion::Affine& camera) {
  for (const auto& group : groups_) group->tracker.move(camera);
}

StreamTracks::Group* StreamTracks::group_of(const gchar* network) {
  for (const auto& group : groups_) {
    if (group->network == network) return group.get();
  }
  if (groups_.size() == kMostNetworks) return nullptr;
  groups_.push_back(std::make_unique<Group>(&ids_));
  groups_.back()->network = network;
  groups_.back()->tracker.configure(settings_.tracker());
  return groups_.back().get();
}

int StreamTracks::class_of(const GstDvObject& object, Group* group) const {
  for (size_t i = 0; i < group->classes.size(); ++i) {
    const TrackNames& known = group->classes[i];
    if (known.class_id == object.class_id && known.label == object.label) {
      return static_cast<int>(i);
    }
  }
  if (group->classes.size() == kMostClasses) return kNoClass;
  group->classes.push_back({object.class_id, object.label, group->network});
  return static_cast<int>(group->classes.size() - 1);
}

// Collects a pass's detections. Objects with a track of another tracker are left alone.
void StreamTracks::collect(GstDvObjectsMeta* meta, gint pass, Group* group) const {
  group->detections.clear();
  group->objects.clear();
  for (guint i = 0; i < gst_dv_objects_meta_get_n_objects(meta); ++i) {
    GstDvObject* object = gst_dv_objects_meta_get_object(meta, i);
    if (object->network != pass || object->kind != GST_DV_OBJECT_DETECTION ||
        object->track_id != 0 || !gst_dv_object_has_box(object) ||
        group->detections.size() == kMostObjects) {
      continue;
    }
    if (!labels_.empty() && !labels_.has(object->label)) continue;
    const int class_id = class_of(*object, group);
    if (class_id == kNoClass) continue;
    track::Detection detection;
    detection.box = {object->x0, object->y0, object->x1, object->y1};
    detection.class_id = class_id;
    detection.confidence = object->confidence;
    gsize length = 0;
    const gfloat* embedding = gst_dv_object_get_embedding(object, &length);
    if (embedding) detection.embedding = {embedding, length};
    group->detections.push_back(detection);
    group->objects.push_back(object);
  }
}

void StreamTracks::tell(const Group& group) const {
  const auto tell_all = [&](Change change, const std::vector<track::Track*>& tracks) {
    for (const track::Track* track : tracks) {
      told_(change, *track, nth(group.classes, track->class_id));
    }
  };
  tell_all(Change::kEnded, group.tracker.ended());
  tell_all(Change::kStarted, group.tracker.started());
}

bool StreamTracks::name_objects(Group* group) {
  bool any = false;
  for (size_t i = 0; i < group->objects.size(); ++i) {
    const track::Track* track = group->tracker.track_of(i);
    if (!track) continue;
    GstDvObject* object = group->objects[i];
    object->track_id = track->id;
    if (settings_.smooth) {
      const image::Corners box = group->tracker.smoothed(i);
      if (box.x1 > box.x0 && box.y1 > box.y0) {
        gst_dv_object_set_box(object, box.x0, box.y0, box.x1, box.y1);
      }
    }
    changed_.push_back(object);
    any = true;
  }
  return any;
}

bool StreamTracks::add_predicted(GstDvObjectsMeta* meta, gint pass, const Group& group) {
  for (const track::Tracker::Predicted& expected : group.tracker.predicted()) {
    const TrackNames& names = nth(group.classes, expected.track->class_id);
    GstDvObject* object =
        gst_dv_objects_meta_add_object(meta, GST_DV_OBJECT_DETECTION, names.class_id,
                                       names.label.c_str(), expected.track->confidence);
    object->network = pass;
    object->track_id = expected.track->id;
    object->predicted = TRUE;
    gst_dv_object_set_box(object, expected.box.x0, expected.box.y0, expected.box.x1,
                          expected.box.y1);
    changed_.push_back(object);
  }
  return !group.tracker.predicted().empty();
}

// Follows the objects of a pass, or, if `pass` is -1, those that belong to no pass.
bool StreamTracks::follow_pass(GstDvObjectsMeta* meta, gint pass, GstClockTime time,
                               const image::Size& size) {
  GstDvPass* state =
      pass >= 0 ? gst_dv_objects_meta_get_pass(meta, static_cast<guint>(pass)) : nullptr;
  Group* group = group_of(state && state->network ? state->network : "");
  if (!group) return false;
  collect(meta, pass, group);
  const auto at = static_cast<track::Time>(time);
  bool any = false;
  if (moved_) group->tracker.rest_outside(*moved_);
  if (!state || state->state == GST_DV_PASS_INFERRED || !group->objects.empty()) {
    group->tracker.update(at, size, group->detections);
    any = name_objects(group);
    if (settings_.predict) any |= add_predicted(meta, pass, *group);
  } else {
    group->tracker.predict(at, size);
    if (settings_.predict && state->state == GST_DV_PASS_SKIPPED) {
      any = add_predicted(meta, pass, *group);
      if (any) state->state = GST_DV_PASS_PREDICTED;
    }
  }
  tell(*group);
  return any;
}

// Writes tracks into the regions that dvdecode has made, and adds regions for predicted objects.
void StreamTracks::export_to(GstBuffer* frame) {
  if (settings_.exports & kRegions) {
    std::sort(changed_.begin(), changed_.end(), [](const GstDvObject* a, const GstDvObject* b) {
      return roi_id(a->id) < roi_id(b->id);
    });
    for (GstVideoRegionOfInterestMeta* roi : region_metas(frame)) {
      const auto at = std::lower_bound(
          changed_.begin(), changed_.end(), roi->id,
          [](const GstDvObject* object, gint id) { return roi_id(object->id) < id; });
      if (at != changed_.end() && is_roi_of(*roi, **at)) export_track(**at, roi);
    }
    for (const GstDvObject* object : changed_) {
      if (object->predicted) export_roi(*object, frame);
    }
  }
#ifdef DVNN_HAVE_ANALYTICS
  if (settings_.exports & kAnalytics) export_analytics(frame);
#endif
}

bool StreamTracks::follow(GstBuffer* frame, GstClockTime time, const image::Size& size) {
  GstDvObjectsMeta* meta = gst_buffer_get_dv_objects_meta(frame);
  if (!meta) return false;
  changed_.clear();
  moved_ = moved_areas(frame);
  bool any = false;
  const guint passes = gst_dv_objects_meta_get_n_passes(meta);
  for (guint pass = 0; pass < passes; ++pass) {
    any |= follow_pass(meta, static_cast<gint>(pass), time, size);
  }
  // Objects that belong to no pass, such as an application's.
  bool others = passes == 0;
  for (guint i = 0; !others && i < gst_dv_objects_meta_get_n_objects(meta); ++i) {
    others = gst_dv_objects_meta_get_object(meta, i)->network < 0;
  }
  if (others) any |= follow_pass(meta, -1, time, size);
  if (any) export_to(frame);
  return any;
}

void StreamTracks::end() {
  for (const auto& group : groups_) {
    group->tracker.reset();
    tell(*group);
    group->tracker.forget_ended();
  }
}

void StreamTracks::reset() {
  groups_.clear();
  ids_ = {};
}

}  // namespace dvnn::gst
