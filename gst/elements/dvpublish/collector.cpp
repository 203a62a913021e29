// SPDX-License-Identifier: Apache-2.0
#include "elements/dvpublish/collector.h"

#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "base/result.h"
#include "elements/dvpublish/snapshots.h"
#include "frames/caps.h"
#include "gst/dvnn/gstdvobjectsmeta.h"
#include "log.h"
#include "publish/pictures.h"

DVNN_LOG_CATEGORY(collect_category, "dvcollect", "Collecting of frames for annotation")
#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT collect_category()

namespace dvnn::gst {
namespace {

constexpr int kQuality = 95;  // networks learn from these pictures, so no blocks should be seen
// A frame must be better than the kept one by this factor to be worth its copy.
constexpr double kWorthACopy = 1.1;
constexpr size_t kMostWaiting = 64 << 20;
constexpr size_t kMostTracks = 65536;
constexpr GstClockTime kHour = 3600 * GST_SECOND;

bool is_detection(const GstDvObject& object) {
  return object.kind == GST_DV_OBJECT_DETECTION && !object.predicted &&
         gst_dv_object_has_box(&object);
}

// Returns 1 for a confidence in the middle between the bounds, 0 at them and beyond; 0 for NaN.
double doubt_of(const GstDvObject& object, const CollectSettings& settings) {
  const double half = (settings.collect_to - settings.collect_from) / 2;
  const double away = std::abs(double{object.confidence} - (settings.collect_from + half));
  return away < half ? 1 - away / half : 0;
}

publish::LabelledBox box_of(const GstDvObject& object) {
  const bool named = object.label && *object.label;
  return {named ? object.label : format("class %d", object.class_id),
          {object.x0, object.y0, object.x1, object.y1}};
}

}  // namespace

Status Collector::begin(const CollectSettings& settings, const std::string& name,
                        CallSoon call_soon, TellProblem tell) {
  collected_ = 0;
  if (settings.collect_folder.empty()) return {};
  DVNN_TRY(publish::check_pictures());
  if (!(settings.collect_from < settings.collect_to)) {
    return invalid_argument(format("collect-from=%g is not below collect-to=%g",
                                   settings.collect_from, settings.collect_to));
  }
  auto shelf = std::make_shared<Shelf>();
  DVNN_ASSIGN(shelf->folder,
              publish::LabelFolder::open(
                  settings.collect_folder,
                  {settings.collect_pictures, guint64{settings.collect_size_mib} << 20}));
  const std::string full = shelf->folder.why_full();
  if (!full.empty()) {
    return Error{ErrorCode::kLimit, full +
                                        "; move them elsewhere, or raise collect-pictures or "
                                        "collect-size-mib"};
  }
  shelf->tell = std::move(tell);
  settings_ = settings;
  name_ = name;
  call_soon_ = std::move(call_soon);
  shelf_ = std::move(shelf);
  files_ = 0;
  return {};
}

void Collector::set_format(const GstCaps* caps) {
  known_ = video_info_from_caps(caps, &info_);
}

void Collector::see(GstBuffer* frame, GstClockTime time) {
  if (!shelf_ || shelf_->closed) return;
  if (GST_CLOCK_TIME_IS_VALID(time)) {
    const GstClockTime interval = kHour / settings_.collect_per_hour;
    if (!GST_CLOCK_TIME_IS_VALID(begun_) || time < begun_) begun_ = time;
    // While too much waits to be written, so does the kept picture: a file plays faster than a disk
    // may take its pictures.
    if (time - begun_ >= interval && shelf_->waiting < kMostWaiting) {
      hand_over();
      begun_ = time;
    }
  }
  consider(frame);
}

// Keeps the frame if there is more to learn from it than from the one that is kept.
void Collector::consider(GstBuffer* frame) {
  const GstDvObjectsMeta* meta = gst_buffer_get_dv_objects_meta(frame);
  Candidate candidate;
  for (guint i = 0; meta && i < gst_dv_objects_meta_get_n_objects(meta); ++i) {
    const GstDvObject& object = *gst_dv_objects_meta_get_object(meta, i);
    if (!is_detection(object)) continue;
    if (object.confidence >= settings_.collect_from)
      candidate.picture.boxes.push_back(box_of(object));
    const double doubt = doubt_of(object, settings_);
    if (doubt == 0 || shown_.count(object.track_id) > 0) continue;
    candidate.score += doubt;
    if (object.track_id != 0) candidate.tracks.push_back(object.track_id);
  }
  if (candidate.score == 0 || (kept_ && candidate.score < kept_->score * kWorthACopy)) return;
  auto picture = known_ ? picture_of_frame(frame, info_, nullptr, G_MAXINT)
                        : unsupported("frames of these caps cannot be read for annotation");
  if (!picture.ok()) {
    if (!shelf_->closed.exchange(true)) shelf_->tell(picture.error());
    return;
  }
  candidate.picture.picture = std::move(picture.value());
  candidate.picture.picture.quality = kQuality;
  GST_LOG("keeps a frame with %zu boxes: %.3f, before %.3f", candidate.picture.boxes.size(),
          candidate.score, kept_ ? kept_->score : 0.0);
  kept_ = std::move(candidate);
}

// Leaves the kept frame to the thread that writes it.
void Collector::hand_over() {
  if (!kept_) return;
  for (const guint64 track : kept_->tracks) shown_.insert(track);
  while (shown_.size() > kMostTracks) shown_.erase(shown_.begin());
  const std::string name = name_ + format("-%06llu", static_cast<unsigned long long>(files_++));
  GST_DEBUG("hands a frame over: %s, %.3f", name.c_str(), kept_->score);
  const size_t bytes = kept_->picture.picture.pixels->bytes.size();
  shelf_->waiting += bytes;
  call_soon_([this, shelf = shelf_, name, bytes, picture = std::move(kept_->picture)]() mutable {
    const auto added = guarded("collecting a picture", [&]() -> Result<bool> {
      if (shelf->closed) return false;
      return shelf->folder.add(std::move(picture), name);
    });
    if (added.ok() && added.value()) ++collected_;
    const std::string full = added.ok() ? shelf->folder.why_full() : "";
    if ((!added.ok() || !full.empty()) && !shelf->closed.exchange(true)) {
      shelf->tell(added.ok() ? Error{ErrorCode::kLimit, full} : added.error());
    }
    shelf->waiting -= bytes;
  });
  kept_.reset();
}

void Collector::begin_anew() {
  if (shelf_) hand_over();
  kept_.reset();
  shown_.clear();
  begun_ = GST_CLOCK_TIME_NONE;
}

void Collector::end() {
  begin_anew();
  shelf_.reset();
  call_soon_ = nullptr;
}

}  // namespace dvnn::gst
