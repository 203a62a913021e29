// SPDX-License-Identifier: Apache-2.0
#include "elements/dvread/objectreader.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "frames/caps.h"
#include "frames/framemap.h"
#include "infer/knowntracks.h"
#include "meta/exchange/roiexport.h"
#include "meta/objectvalue.h"

namespace dvnn::gst {
namespace {

constexpr size_t kMostTexts = 1024;
// What a reading counts for among several: most codes have checksums, but short ones are weak.
constexpr float kSure = 0.95f;

void write(const codes::Reading& reading, GstDvObject* object) {
  gst_dv_object_set_text(object, reading.text.c_str());
  gst_dv_object_set_text_format(object, reading.format.c_str());
}

}  // namespace

void ObjectReader::configure(const ReadSettings& settings) {
#ifdef DVNN_HAVE_MARKERS
  if (settings.marker_families != settings_.marker_families) {
    markers_.set_families(split_list(settings.marker_families));
  }
  marker_classes_.set(settings.marker_class);
#endif
  settings_ = settings;
  classes_.set(settings.object_class);
}

void ObjectReader::reset() {
  budget_.reset();
  known_.clear();
  last_ = 0;
}

void ObjectReader::find(GstDvObjectsMeta* meta) {
  objects_.clear();
  const guint count = meta ? gst_dv_objects_meta_get_n_objects(meta) : 0;
  for (guint i = 0; i < count && objects_.size() < kMostTexts; ++i) {
    GstDvObject* object = gst_dv_objects_meta_get_object(meta, i);
    if (object->kind != GST_DV_OBJECT_DETECTION || !gst_dv_object_has_box(object)) continue;
    const bool wanted = classes_.empty() || classes_.has(object->label) || is_marker(*object);
    if (wanted) objects_.push_back(object);
  }
}

void ObjectReader::spend_budget(GstClockTime time) {
  regions::BudgetRules rules;
  rules.max_per_frame = settings_.max_per_frame;
  rules.max_rate = settings_.max_rate;
  rules.refresh = static_cast<regions::Time>(settings_.refresh_ms) * GST_MSECOND;
  chosen_.clear();
  if (!rules.limits() && settings_.agree == 0) {
    for (size_t i = 0; i < objects_.size(); ++i) chosen_.push_back(i);
    return;
  }
  // Limits by time do not apply to frames without a time.
  if (!GST_CLOCK_TIME_IS_VALID(time)) rules.refresh = 0, rules.max_rate = 0, time = 0;
  std::vector<regions::Candidate> candidates;
  for (const GstDvObject* object : objects_) {
    candidates.push_back({object->track_id, {object->x0, object->y0, object->x1, object->y1}});
  }
  chosen_ = budget_.choose(rules, static_cast<regions::Time>(time), candidates);
}

void ObjectReader::forget_old(GstClockTime time) {
  if (!GST_CLOCK_TIME_IS_VALID(time)) return;
  if (time < last_ || known_.size() > kMostTracks) known_.clear();
  last_ = time;
  for (auto known = known_.begin(); known != known_.end();) {
    const bool old = time - known->second.seen > kForgotten;
    known = old ? known_.erase(known) : std::next(known);
  }
}

// Reads a marker: its number is the text. Its corners say how it lies, which a box does not.
std::optional<codes::Reading> ObjectReader::read_marker(
    [[maybe_unused]] const codes::PixelRect& part, [[maybe_unused]] GstDvObject* object) {
#ifdef DVNN_HAVE_MARKERS
  if (const auto marker = markers_.read(luma_, core())) {
    const bool has_corners = gst_dv_object_get_n_corners(object) > 0;
    for (const auto& [x, y] : marker->corners) {
      if (!has_corners) gst_dv_object_add_corner(object, part.x0 + x, part.y0 + y);
    }
    return codes::Reading{std::to_string(marker->id), marker->family};
  }
#endif
  return std::nullopt;
}

// Compares what was read on a tracked object, or that nothing was, with earlier looks at it.
void ObjectReader::compare(const std::optional<codes::Reading>& reading,
                           const GstDvObject& object) {
  objects::Objects found;
  if (reading) {
    objects::Object& one = found.add();
    one.kind = objects::Kind::kAttributes;
    one.text = reading->text;
    one.text_format = reading->format;
    one.confidence = kSure;
  }
  agree::Rules rules;
  rules.looks = settings_.agree;
  rules.pattern = settings_.patterns ? settings_.patterns->find(object.label) : nullptr;
  Known& known = known_[object.track_id];
  known.looks.add_look(rules, found, object.x1 - object.x0, object.y1 - object.y0);
  budget_.settle(object.track_id, known.looks.settled());
  if (known.looks.results().empty()) return;
  const objects::Object& agreed = known.looks.results()[0];
  known.reading = {agreed.text, agreed.text_format};
  known.agreement = agreed.agreement;
}

void ObjectReader::read_object(const GstVideoFrame& frame, const codes::Planes& planes,
                               GstDvObject* object) {
  const double x = settings_.margin * (object->x1 - object->x0),
               y = settings_.margin * (object->y1 - object->y0);
  const auto within = [](double edge, int most) {
    return static_cast<int>(std::clamp(edge, 0.0, static_cast<double>(most)));
  };
  const int width = GST_VIDEO_FRAME_WIDTH(&frame),
            height = GST_VIDEO_FRAME_HEIGHT(&frame) * planes.lines_per_row;
  const codes::PixelRect part = {
      within(std::floor(object->x0 - x), width), within(std::floor(object->y0 - y), height),
      within(std::ceil(object->x1 + x), width), within(std::ceil(object->y1 + y), height)};
  if (part.x1 <= part.x0 || part.y1 <= part.y0) return;
  codes::copy_luma(planes, part, &luma_);
  const auto reading = is_marker(*object) ? read_marker(part, object) : read_code();
  if (settings_.agree > 0 && object->track_id != 0) return compare(reading, *object);
  if (!reading) return;
  if (settings_.agree > 0) write_agreement({1, kSure, false}, object);
  // Codes have checksums, so a text stays right when a later look is blurred.
  if (object->track_id != 0) known_[object->track_id].reading = *reading;
  write(*reading, object);
}

Status ObjectReader::read_chosen(const GstVideoInfo& info, GstBuffer* frame) {
  DVNN_TRY(check_video_meta(info, frame));
  const VideoFrameMap mapped(info, frame, GST_MAP_READ);
  if (!mapped.ok()) return malformed("the frame's memory cannot be mapped");
  DVNN_TRY(check_frame_memory(mapped.frame()));
  codes::Planes planes;
  planes.lines_per_row = lines_per_row(info);
  DVNN_ASSIGN(planes.format, pixel_format(GST_VIDEO_FRAME_FORMAT(&mapped.frame())));
  for (guint i = 0; i < GST_VIDEO_FRAME_N_PLANES(&mapped.frame()); ++i) {
    planes.data[i] = static_cast<const uint8_t*>(GST_VIDEO_FRAME_PLANE_DATA(&mapped.frame(), i));
    planes.stride[i] = GST_VIDEO_FRAME_PLANE_STRIDE(&mapped.frame(), i);
  }
  for (const size_t i : chosen_) read_object(mapped.frame(), planes, objects_[i]);
  return {};
}

// Attaches what was read earlier on a track whose object was not read now, and writes all texts
// into regions.
void ObjectReader::attach(GstClockTime time, GstBuffer* frame) {
  for (GstDvObject* object : objects_) {
    const auto known = known_.find(object->track_id);
    if (object->track_id != 0 && known != known_.end()) {
      if (GST_CLOCK_TIME_IS_VALID(time)) known->second.seen = time;
      if (!known->second.reading.text.empty()) write(known->second.reading, object);
      write_agreement(known->second.agreement, object);
    }
    export_text(*object, frame);
  }
}

Status ObjectReader::read(const GstVideoInfo& info, GstClockTime time, GstBuffer* frame) {
  find(gst_buffer_get_dv_objects_meta(frame));
  forget_old(time);
  spend_budget(time);
  if (!chosen_.empty()) DVNN_TRY(read_chosen(info, frame));
  attach(time, frame);
  return {};
}

}  // namespace dvnn::gst
