// SPDX-License-Identifier: Apache-2.0
#include "elements/dvpublish/streamdocuments.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "elements/dvpublish/framefacts.h"
#include "frames/caps.h"
#include "publish/pictures.h"
#include "times.h"

namespace dvnn::gst {
namespace {

using objects::Object;
using Objects = std::vector<publish::FrameObject>;

bool is_same(const Object& a, const Object& b) {
  return a.track_id == b.track_id && a.label == b.label && a.text == b.text &&
         a.agreement.reached == b.agreement.reached && a.identity.name == b.identity.name &&
         a.identity.stranger == b.identity.stranger && a.identity.agreed == b.identity.agreed &&
         objects::has_box(a) == objects::has_box(b);
}

double moved(const Object& a, const Object& b) {
  if (!objects::has_box(a) || !objects::has_box(b)) return 0;
  return std::max({std::abs(a.box.x0 - b.box.x0), std::abs(a.box.y0 - b.box.y0),
                   std::abs(a.box.x1 - b.box.x1), std::abs(a.box.y1 - b.box.y1)});
}

// Returns whether the objects differ from the old ones: in number, or because one of them has no
// old one of the same track and texts within `most` pixels. Each object takes the nearest such one.
bool differ(const Objects& objects, std::vector<const Object*> old, double most) {
  if (objects.size() != old.size()) return true;
  for (const auto& [object, picture] : objects) {
    auto nearest = old.end();
    for (auto one = old.begin(); one != old.end(); ++one) {
      if (!is_same(object, **one)) continue;
      if (nearest == old.end() || moved(object, **one) < moved(object, **nearest)) nearest = one;
    }
    if (nearest == old.end() || moved(object, **nearest) > most) return true;
    old.erase(nearest);
  }
  return false;
}

}  // namespace

bool Changes::is_due(GstClockTime time, const PublishSettings& settings) const {
  if (settings.interval_ms == 0 || !GST_CLOCK_TIME_IS_VALID(time)) return true;
  // A time that goes back belongs to another stream.
  return !GST_CLOCK_TIME_IS_VALID(last_) || time >= due_ || time < last_;
}

bool Changes::is_new(GstClockTime time, const Objects& objects, double height,
                     const PublishSettings& settings) {
  const bool timed =
      GST_CLOCK_TIME_IS_VALID(time) && GST_CLOCK_TIME_IS_VALID(last_) && time >= last_;
  if (settings.min_change > 0 && timed && time - last_ < settings.heartbeat_ms * GST_MSECOND) {
    std::vector<const Object*> old;
    for (const Object& object : told_) old.push_back(&object);
    if (!differ(objects, std::move(old), settings.min_change * height)) return false;
  }
  told_.clear();
  if (settings.min_change > 0) {
    for (const auto& [object, picture] : objects) told_.push_back(object);
  }
  if (!GST_CLOCK_TIME_IS_VALID(time)) return true;
  // Due times stay on a fixed grid, so that 100 ms with frames at 30 a second give ten documents a
  // second.
  const GstClockTime interval = settings.interval_ms * GST_MSECOND;
  const bool on_beat = timed && time >= due_ && time - due_ < interval;
  due_ = (on_beat ? due_ : time) + interval;
  last_ = time;
  return true;
}

namespace {

constexpr size_t kMostFound = 10000;  // without a frame in between
constexpr guint kMostPictures = 100;  // of a frame's objects

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

// Reads what dvrecord tells of a clip: the structure "dvnn-clip".
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

// Returns the times of the clip's first frame.
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

// Returns the clip's picture, which is in a file; nothing if it has none.
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

// Returns the time of a finding between frames, derived from the frame with which it came.
publish::Times times_of(const GstStructure* fields, const publish::Times& frame) {
  publish::Times times = frame;
  const guint64 none = GST_CLOCK_TIME_NONE;
  const guint64 pts = uint64_field(fields, "timestamp", none);
  const guint64 stream = uint64_field(fields, "stream-time", none);
  if (stream != none) times.stream_time = stream;
  if (pts == none) return times;
  if (frame.pts) {
    // Wraps around if the times are absurd.
    const guint64 ago = *frame.pts - pts;
    times.utc_ns = static_cast<gint64>(static_cast<guint64>(times.utc_ns) - ago);
    if (times.ntp) *times.ntp -= ago;
  }
  times.pts = pts;
  return times;
}

size_t bytes_of(const std::optional<publish::Picture>& picture) {
  return picture && picture->pixels ? picture->pixels->bytes.size() : 0;
}

size_t bytes_of(const publish::Document& document) {
  size_t bytes = sizeof(publish::Document) + bytes_of(document.picture);
  if (const auto* heat = std::get_if<publish::HeatFacts>(&document.facts)) {
    for (const publish::HeatLabel& label : heat->labels) {
      bytes += sizeof(label) + label.cells.size() * sizeof(label.cells[0]);
    }
  }
  if (const auto* frame = std::get_if<publish::FrameFacts>(&document.facts)) {
    for (const auto& [object, picture] : frame->objects) {
      bytes += sizeof(object) + sizeof(picture) + bytes_of(picture) + object.mask.cells.size() +
               object.embedding.size() * sizeof(float);
    }
  }
  return bytes;
}

}  // namespace

void StreamDocuments::begin(const publish::Identity& identity, Write write, Send send,
                            TellProblem tell) {
  const std::lock_guard<std::mutex> lock(mutex_);
  identity_ = std::make_shared<const publish::Identity>(identity);
  write_ = write;
  send_ = std::move(send);
  tell_ = std::move(tell);
  seq_ = 0;
  snapshots_.set_name(identity.session);
}

bool StreamDocuments::set_format(const GstCaps* caps) {
  caps_size_ = size_ = frame_size(caps);
  snapshots_.set_format(caps);
  return (size_.width > 0 && size_.height > 0) || is_windows_caps(caps);
}

void StreamDocuments::add_frame(GstBuffer* frame, const GstSegment& segment,
                                const PublishSettings& settings) {
  size_ = frame_size(frame, caps_size_);
  const publish::Times times = frame_times(frame, segment);
  if (settings.snapshot != Snapshot::kNone && (show_ || (settings.mode & (kEvents | kTracks)))) {
    snapshots_.see(frame, settings);
  }
  publish_found(frame, times, settings);
  if (settings.mode & kFrames) {
    publish_frame(frame, running_time(segment, frame), times, settings);
  }
  last_times_ = times;
  if (const auto problem = snapshots_.take_problem()) tell_(*problem);
}

void StreamDocuments::add_found(const GstStructure* fields, const PublishSettings& settings) {
  if (found_.size() >= kMostFound) add_rest(settings);
  found_.emplace_back(gst_structure_copy(fields));
}

void StreamDocuments::add_rest(const PublishSettings& settings) {
  if (found_.empty()) return;
  constexpr gint64 kMicrosecond = 1000;
  if (last_times_.utc_ns == 0) last_times_.utc_ns = g_get_real_time() * kMicrosecond;
  publish_found(nullptr, last_times_, settings);
}

void StreamDocuments::add_clip(const GstStructure* fields, const PublishSettings& settings) {
  publish::Document document;
  document.time = clip_times(fields);
  document.facts = clip_facts(fields);
  document.picture = clip_picture(fields);
  send(std::move(document), settings);
}

void StreamDocuments::begin_anew() {
  changes_.reset();
  snapshots_.forget_all();
}

void StreamDocuments::end() {
  begin_anew();
  show_ = nullptr;
  found_.clear();
  caps_size_ = size_ = {};
  last_times_ = {};
  const std::lock_guard<std::mutex> lock(mutex_);
  send_ = nullptr;
}

void StreamDocuments::send(publish::Document document, const PublishSettings& settings) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const guint64 seq = seq_++;
  if (!send_) return;
  const size_t bytes = bytes_of(document);
  send_({[document = std::move(document), fields = settings.fields_text, identity = identity_,
          write = write_, tell = tell_, seq]() mutable -> publish::Message {
           const Status status = publish::encode_pictures(&document);
           if (!status.ok()) tell(status.error());
           return {identity->topic, identity->stream, write(document, *identity, seq, fields)};
         },
         bytes});
}

publish::Document StreamDocuments::document_at(const publish::Times& times) const {
  publish::Document document;
  document.time = times;
  document.width = static_cast<int>(size_.width);
  document.height = static_cast<int>(size_.height);
  return document;
}

// Returns the object's picture from this frame, or else its best view so far.
std::optional<publish::Picture> StreamDocuments::picture_of(guint64 track, GstBuffer* frame,
                                                            const PublishSettings& settings) {
  if (settings.snapshot == Snapshot::kNone) return std::nullopt;
  if (frame && settings.snapshot == Snapshot::kFrame) return snapshots_.of_frame(frame, settings);
  const GstDvObjectsMeta* meta = frame ? gst_buffer_get_dv_objects_meta(frame) : nullptr;
  for (guint i = 0; meta && i < gst_dv_objects_meta_get_n_objects(meta); ++i) {
    const GstDvObject* object = gst_dv_objects_meta_get_object(meta, i);
    if (object->track_id == track && track != 0 && !object->predicted) {
      return snapshots_.of_object(frame, *object, settings);
    }
  }
  return snapshots_.of_track(track, settings);
}

void StreamDocuments::publish_found(GstBuffer* frame, const publish::Times& times,
                                    const PublishSettings& settings) {
  for (const StructurePtr& fields : found_) {
    const bool event = gst_structure_has_name(fields.get(), "dvnn-zone-event") ||
                       gst_structure_has_name(fields.get(), "dvnn-identity");
    if (gst_structure_has_name(fields.get(), "dvnn-zone-heat")) {
      if (!(settings.mode & kHeat)) continue;
      publish::Document document = document_at(times_of(fields.get(), times));
      document.facts = heat_facts(fields.get());
      send(std::move(document), settings);
      continue;
    }
    const bool ended = gst_structure_has_name(fields.get(), "dvnn-track-ended");
    const guint64 track = uint64_field(fields.get(), "track-id", 0);
    if (settings.mode & (event ? kEvents : kTracks)) {
      publish::Document document = document_at(times_of(fields.get(), times));
      document.picture =
          ended ? snapshots_.of_track(track, settings) : picture_of(track, frame, settings);
      if (event) {
        document.facts = event_facts(fields.get());
      } else {
        document.facts = track_facts(fields.get());
      }
      send(std::move(document), settings);
    }
    if (!ended) continue;
    auto view = show_ ? snapshots_.view_of(track, settings) : std::nullopt;
    if (view) show_(std::move(*view));
    snapshots_.forget_track(track);
  }
  found_.clear();
}

void StreamDocuments::add_pictures(GstBuffer* frame, const PublishSettings& settings,
                                   publish::Document* document) {
  if (settings.snapshot == Snapshot::kFrame) {
    document->picture = snapshots_.of_frame(frame, settings);
  }
  const GstDvObjectsMeta* meta = gst_buffer_get_dv_objects_meta(frame);
  if (!meta || settings.snapshot != Snapshot::kObject) return;
  // They are in the meta's order, but some may be left out.
  auto& objects = std::get<publish::FrameFacts>(document->facts).objects;
  guint left = kMostPictures;
  auto told = objects.begin();
  for (guint i = 0; i < gst_dv_objects_meta_get_n_objects(meta) && left > 0; ++i) {
    const GstDvObject* object = gst_dv_objects_meta_get_object(meta, i);
    if (told == objects.end()) return;
    if (told->object.id != object->id) continue;
    const auto one = told++;
    if (object->predicted || !gst_dv_object_has_box(object)) continue;
    one->picture = snapshots_.of_object(frame, *object, settings);
    --left;
  }
}

void StreamDocuments::publish_frame(GstBuffer* frame, GstClockTime time,
                                    const publish::Times& times, const PublishSettings& settings) {
  if (!changes_.is_due(time, settings)) return;
  auto facts = frame_facts(frame, settings.details, settings.only_agreed);
  if (!changes_.is_new(time, facts.objects, size_.height, settings)) return;
  publish::Document document = document_at(times);
  document.facts = std::move(facts);
  add_pictures(frame, settings, &document);
  send(std::move(document), settings);
}

}  // namespace dvnn::gst
