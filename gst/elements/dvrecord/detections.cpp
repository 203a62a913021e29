// SPDX-License-Identifier: Apache-2.0
#include "elements/dvrecord/detections.h"

#include <algorithm>
#include <utility>

#include "base/format.h"
#include "elements/dvpublish/framefacts.h"
#include "elements/dvpublish/snapshots.h"
#include "frames/caps.h"
#include "gst/dvnn/gstdvobjectsmeta.h"
#include "times.h"

namespace dvnn::gst {
namespace {

constexpr size_t kMostTold = 10000;  // without a frame in between
constexpr int kPictureQuality = 85;
// How long a document is shown if frames have no durations and no rhythm.
constexpr GstClockTime kUsualInterval = 100 * GST_MSECOND, kLongestInterval = GST_SECOND;

// Appends JSON that readers of subtitles take for neither markup nor a time: the characters that
// markup is made of stand in strings alone, where they have another form.
void append_harmless(const std::string& line, std::string* to) {
  for (const char c : line) {
    if (c == '<' || c == '>' || c == '&') {
      *to += format("\\u%04x", static_cast<unsigned>(c));
    } else {
      *to += c;
    }
  }
}

bool is_found(const GstDvObject& object) {
  return object.kind == GST_DV_OBJECT_DETECTION && !object.predicted &&
         gst_dv_object_has_box(&object);
}

}  // namespace

void Detections::begin(std::shared_ptr<record::Recorder> recorder, size_t track, SharedCaps format,
                       const std::string& stream, bool documents) {
  recorder_ = std::move(recorder);
  track_ = track;
  format_ = std::move(format);
  documents_ = documents;
  publish_.mode = kFrames | kEvents | kTracks;
  publish::Identity identity;
  identity.stream = stream;
  identity.session = publish::new_session();
  lines_of_.begin(
      identity, publish::to_line,
      [this](publish::Draft draft) {
        if (!lines_.empty()) lines_ += '\n';
        append_harmless(draft.write().body, &lines_);
      },
      [](const Error&) {});
}

void Detections::configure(const RecordSettings& settings) {
  triggers_.set(settings);
  picture_size_ = settings.picture_size;
  publish_.details = settings.details;
  presence_ = (guint64{settings.before_ms} + settings.after_ms) * GST_MSECOND;
}

bool Detections::set_format(const GstCaps* caps) {
  known_ = video_info_from_caps(caps, &info_);
  return lines_of_.set_format(caps);
}

void Detections::told(const GstStructure* fields) {
  if (!may_be_event(fields)) return;
  if (documents_ && !gst_structure_has_name(fields, "dvnn-motion-started") &&
      !gst_structure_has_name(fields, "dvnn-motion-ended")) {
    lines_of_.add_found(fields, publish_);
  }
  if (gst_structure_has_name(fields, "dvnn-motion-started")) moving_ = true;
  if (gst_structure_has_name(fields, "dvnn-motion-ended")) moving_ = false;
  if (!triggers_.is_event(fields) || told_.size() >= kMostTold) return;
  const guint64 time = uint64_field(fields, "running-time", GST_CLOCK_TIME_NONE);
  told_.push_back({time <= G_MAXINT64 / 4 ? static_cast<record::Time>(time) : record::kNoTime,
                   shared_structure(StructurePtr(gst_structure_copy(fields)))});
}

// An object is an event when it comes; as long as it is seen, it keeps the clip going.
void Detections::watch_objects(GstBuffer* frame, GstClockTime time,
                               std::vector<record::Event>* events) {
  const GstDvObjectsMeta* meta = gst_buffer_get_dv_objects_meta(frame);
  const GstDvObject* best = nullptr;
  for (guint i = 0; meta && i < gst_dv_objects_meta_get_n_objects(meta); ++i) {
    const GstDvObject* object = gst_dv_objects_meta_get_object(meta, i);
    if (!is_found(*object) || !triggers_.is_object(object->label)) continue;
    if (!best || object->confidence > best->confidence) best = object;
  }
  if (!best) return;
  record::Event event{record::kNoTime, nullptr};
  const bool comes =
      !GST_CLOCK_TIME_IS_VALID(object_at_) || time < object_at_ || time > object_at_ + presence_;
  object_at_ = time;
  if (comes) {
    event.data = shared_structure(StructurePtr(gst_structure_new(
        "dvnn-object", "event", G_TYPE_STRING, "object", "timestamp", G_TYPE_UINT64,
        GST_BUFFER_PTS(frame), "running-time", G_TYPE_UINT64, time, "track-id", G_TYPE_UINT64,
        best->track_id, "label", G_TYPE_STRING, best->label ? best->label : "", "confidence",
        G_TYPE_DOUBLE, static_cast<gdouble>(best->confidence), nullptr)));
  }
  events->push_back(std::move(event));
}

// Returns the frame's documents as a unit of the text track; without data if there are none.
record::Unit Detections::document_unit(GstBuffer* frame, GstClockTime time) {
  record::Unit unit;
  unit.time = unit.decode = static_cast<record::Time>(time);
  if (lines_.empty()) return unit;
  GstClockTime duration = GST_BUFFER_DURATION(frame);
  if (!GST_CLOCK_TIME_IS_VALID(duration)) {
    const bool timed = GST_CLOCK_TIME_IS_VALID(last_) && time > last_;
    duration = timed ? std::min(time - last_, kLongestInterval) : kUsualInterval;
  }
  auto packet = std::make_shared<Packet>();
  packet->buffer = allocate_buffer(lines_.size());
  if (!packet->buffer) return unit;
  gst_buffer_fill(packet->buffer.get(), 0, lines_.data(), lines_.size());
  unit.bytes = lines_.size();
  unit.duration = static_cast<record::Time>(duration);
  unit.format = format_;
  unit.data = std::move(packet);
  return unit;
}

void Detections::frame(GstBuffer* frame, const GstSegment& segment) {
  const GstClockTime time = running_time(segment, frame);
  if (!GST_CLOCK_TIME_IS_VALID(time) || !recorder_) return;
  lines_.clear();
  if (documents_) lines_of_.add_frame(frame, segment, publish_);
  std::vector<record::Event> events = std::exchange(told_, {});
  watch_objects(frame, time, &events);
  if (moving_ && triggers_.has_motion()) events.push_back({record::kNoTime, nullptr});
  const bool event = !events.empty();
  recorder_->follow(track_, document_unit(frame, time), std::move(events));
  last_ = time;
  offer_picture(frame, event);
}

// A clip's picture is the frame that shows a wanted object best, or else one with an event.
void Detections::offer_picture(GstBuffer* frame, bool event) {
  if (picture_size_ == 0 || !known_) return;
  const GstDvObjectsMeta* meta = gst_buffer_get_dv_objects_meta(frame);
  const image::Size size =
      frame_size(frame, {static_cast<double>(info_.width), static_cast<double>(info_.height)});
  double score = event ? 0 : -1;
  for (guint i = 0; meta && i < gst_dv_objects_meta_get_n_objects(meta); ++i) {
    const GstDvObject& object = *gst_dv_objects_meta_get_object(meta, i);
    if (!is_found(object) || !triggers_.wants(object.label)) continue;
    score = std::max(score, view_score(object, size));
  }
  if (score < 0) return;
  recorder_->offer_picture(score, [&]() -> std::shared_ptr<void> {
    auto picture = picture_of_frame(frame, info_, nullptr, picture_size_);
    if (!picture.ok()) return nullptr;
    picture.value().quality = kPictureQuality;
    return std::make_shared<publish::Picture>(std::move(picture.value()));
  });
}

void Detections::gap(GstClockTime running_time) {
  if (!GST_CLOCK_TIME_IS_VALID(running_time) || !recorder_) return;
  record::Unit unit;
  unit.time = unit.decode = static_cast<record::Time>(running_time);
  recorder_->follow(track_, std::move(unit), std::exchange(told_, {}));
  last_ = running_time;
}

void Detections::begin_anew() {
  lines_of_.begin_anew();
  moving_ = false;
  object_at_ = last_ = GST_CLOCK_TIME_NONE;
}

void Detections::end() {
  // What was told after the last frame belongs to it.
  if (!told_.empty() && GST_CLOCK_TIME_IS_VALID(last_)) gap(last_);
  told_.clear();
  begin_anew();
}

}  // namespace dvnn::gst
