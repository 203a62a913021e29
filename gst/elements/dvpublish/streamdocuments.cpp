// SPDX-License-Identifier: Apache-2.0
#include "elements/dvpublish/streamdocuments.h"

#include "elements/dvpublish/clipfacts.h"
#include "elements/dvpublish/framefacts.h"
#include "frames/audiocaps.h"
#include "frames/videocaps.h"
#include "publish/pictures.h"
#include "times.h"

namespace dvnn::gst {
namespace {

constexpr size_t kMostFound = 10000;  // without a frame in between
constexpr guint kMostPictures = 100;  // of a frame's objects

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
