// SPDX-License-Identifier: Apache-2.0
#include "tools/evaluate/follow.h"

#include <cstdlib>

#include "base/format.h"
#include "base/names.h"
#include "track/tracker.h"

namespace dvnn::tools {
namespace {

constexpr const char* kCameraNames[] = {"static", "moving", "auto"};
constexpr const char* kTrackFlags[] = {"false", "true"};

track::Time frame_time(const evaluate::Sequence& sequence, size_t frame) {
  constexpr double kSecond = 1e9;
  return static_cast<track::Time>(kSecond * static_cast<double>(frame) / sequence.rate);
}

Status set_track_option(const std::string& name, const std::string& value, TrackOptions* options) {
  if (name == "camera") {
    DVNN_ASSIGN(options->camera, parse_name<motion::Camera>(value, kCameraNames, "camera"));
    return {};
  }
  if (name == "smooth" || name == "predict") {
    DVNN_ASSIGN(const size_t flag, find_name(value, names_of(kTrackFlags), "value"));
    (name == "smooth" ? options->smooth : options->predict) = flag == 1;
    return {};
  }
  char* end = nullptr;
  const double number = std::strtod(value.c_str(), &end);
  if (value.empty() || *end != '\0') {
    return invalid_argument(name + ": '" + short_text(value, 40) + "' is no number");
  }
  return track::set_parameter(name, number, &options->tracker);
}

// Follows one sequence.
class Follower {
 public:
  Follower(const evaluate::DataSet& data, const evaluate::Sequence& sequence,
           const TrackOptions& options)
      : data_(data), sequence_(sequence), options_(options), tracker_(&ids_) {
    track::Settings settings = options.tracker;
    settings.common_motion = options.camera != motion::Camera::kStatic;
    tracker_.configure(settings);
  }

  void frame(size_t index, const std::optional<motion::Affine>& camera,
             const std::vector<evaluate::Found>& found, std::vector<evaluate::Followed>* to) {
    const evaluate::Picture& picture = data_.pictures[sequence_.first + index];
    detections_.clear();
    for (const evaluate::Found& one : found) {
      if (one.score < static_cast<double>(options_.tracker.weak)) continue;
      track::Detection detection;
      detection.box = {one.box.x, one.box.y, one.box.x + one.box.width, one.box.y + one.box.height};
      detection.class_id = one.class_id;
      detection.confidence = static_cast<float>(one.score);
      detections_.push_back(detection);
    }
    if (camera) tracker_.move(*camera);
    tracker_.update(frame_time(sequence_, index), {double(picture.width), double(picture.height)},
                    detections_);
    for (size_t i = 0; i < detections_.size(); ++i) {
      const track::Track* track = tracker_.track_of(i);
      if (!track) continue;
      const image::Corners smoothed = tracker_.smoothed(i);
      const bool use = options_.smooth && smoothed.x1 > smoothed.x0 && smoothed.y1 > smoothed.y0;
      add(*track, use ? smoothed : detections_[i].box, to);
    }
    if (!options_.predict) return;
    for (const track::Tracker::Predicted& one : tracker_.predicted()) add(*one.track, one.box, to);
  }

 private:
  static void add(const track::Track& track, const image::Corners& box,
                  std::vector<evaluate::Followed>* to) {
    to->push_back({track.class_id,
                   static_cast<int64_t>(track.id),
                   {box.x0, box.y0, box.x1 - box.x0, box.y1 - box.y0}});
  }

  const evaluate::DataSet& data_;
  const evaluate::Sequence& sequence_;
  const TrackOptions& options_;
  track::TrackIds ids_;
  track::Tracker tracker_;
  std::vector<track::Detection> detections_;
};

}  // namespace

Result<TrackOptions> parse_track_options(const std::vector<std::string>& texts) {
  TrackOptions options;
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos) {
      return invalid_argument("'" + short_text(text, 80) + "' is not NAME=VALUE");
    }
    DVNN_TRY(set_track_option(text.substr(0, equals), text.substr(equals + 1), &options));
  }
  return options;
}

SequenceCamera::SequenceCamera(const evaluate::DataSet& data, motion::Camera camera)
    : data_(data), camera_(camera), motions_(data.pictures.size()) {
  watch_.configure(camera);
}

void SequenceCamera::see(size_t picture, const Bitmap& bgr) {
  if (data_.sequences.empty() || camera_ == motion::Camera::kStatic) return;
  while (picture >= data_.sequences[sequence_].first + data_.sequences[sequence_].count) {
    ++sequence_;
    watch_.reset();
  }
  const evaluate::Sequence& sequence = data_.sequences[sequence_];
  const track::Time time = frame_time(sequence, picture - sequence.first);
  if (!watch_.wants(time)) return;
  // As of frames in RGB, of which green stands for the brightness.
  const motion::Luma luma = {bgr.bytes.data() + 1, bgr.width, bgr.height,
                             static_cast<ptrdiff_t>(bgr.stride()), bgr.channels};
  motion::Affine motion;
  if (watch_.see(time, luma, &motion)) motions_[picture] = motion;
}

void follow(const evaluate::DataSet& data, const SequenceCamera& camera,
            const TrackOptions& options, Subject* subject) {
  subject->followed.assign(data.pictures.size(), {});
  for (const evaluate::Sequence& sequence : data.sequences) {
    Follower follower(data, sequence, options);
    for (size_t i = 0; i < sequence.count; ++i) {
      const size_t picture = sequence.first + i;
      follower.frame(i, camera.motion(picture), subject->found[picture],
                     &subject->followed[picture]);
    }
  }
}

}  // namespace dvnn::tools
