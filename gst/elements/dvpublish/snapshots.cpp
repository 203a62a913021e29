// SPDX-License-Identifier: Apache-2.0
#include "elements/dvpublish/snapshots.h"

#include <algorithm>

#include "base/format.h"
#include "elements/dvpublish/framepicture.h"
#include "frames/videocaps.h"

namespace dvnn::gst {
namespace {

constexpr size_t kMostViews = 128;
// A new view must be better than the kept one by this factor to be worth its copy.
constexpr double kBetter = 1.1;

}  // namespace

void Snapshots::set_format(const GstCaps* caps) {
  known_ = video_info_from_caps(caps, &info_);
}

void Snapshots::see(GstBuffer* frame, const PublishSettings& settings) {
  const GstDvObjectsMeta* meta = gst_buffer_get_dv_objects_meta(frame);
  ++frames_;
  if (!meta || !known_) return;
  const image::Size size =
      frame_size(frame, {static_cast<double>(info_.width), static_cast<double>(info_.height)});
  for (guint i = 0; i < gst_dv_objects_meta_get_n_objects(meta); ++i) {
    const GstDvObject& object = *gst_dv_objects_meta_get_object(meta, i);
    if (object.track_id == 0 || object.predicted || !gst_dv_object_has_box(&object)) continue;
    const auto found = views_.find(object.track_id);
    const double score = view_score(object, size);
    if (found != views_.end()) found->second.seen = frames_;
    if (found != views_.end() && !(score >= found->second.score * kBetter)) continue;
    const bool of_frame = settings.snapshot == Snapshot::kFrame;
    auto picture = take(frame, of_frame ? nullptr : &object, settings.snapshot_size);
    if (!picture) continue;
    if (found == views_.end()) make_room();
    views_[object.track_id] = {std::move(*picture), score, frames_};
  }
}

// Drops the view of the track that was last seen longest ago.
void Snapshots::make_room() {
  if (views_.size() < kMostViews) return;
  const auto oldest =
      std::min_element(views_.begin(), views_.end(),
                       [](const auto& a, const auto& b) { return a.second.seen < b.second.seen; });
  views_.erase(oldest);
}

// Takes a picture of the object or, without one, of the frame.
std::optional<publish::Picture> Snapshots::take(GstBuffer* frame, const GstDvObject* object,
                                                guint size) {
  if (!known_) {
    problem_ = unsupported("frames of these caps cannot be read for snapshots");
    return std::nullopt;
  }
  auto picture = picture_of_frame(frame, info_, object, size);
  if (picture.ok()) return std::move(picture.value());
  problem_ = picture.error();
  return std::nullopt;
}

// Adds the quality and the file's name, as the settings give them.
publish::Picture Snapshots::addressed(publish::Picture picture, const PublishSettings& settings) {
  picture.quality = static_cast<int>(settings.snapshot_quality);
  if (!settings.snapshot_folder.empty()) {
    picture.file = settings.snapshot_folder + "/" + name_ +
                   format("-%llu.jpg", static_cast<unsigned long long>(files_++));
  }
  return picture;
}

std::optional<publish::Picture> Snapshots::of_track(guint64 track,
                                                    const PublishSettings& settings) {
  const auto found = views_.find(track);
  if (found == views_.end()) return std::nullopt;
  return addressed(found->second.picture, settings);
}

std::optional<publish::Picture> Snapshots::view_of(guint64 track,
                                                   const PublishSettings& settings) const {
  const auto found = views_.find(track);
  if (found == views_.end()) return std::nullopt;
  publish::Picture picture = found->second.picture;
  picture.quality = static_cast<int>(settings.snapshot_quality);
  return picture;
}

std::optional<publish::Picture> Snapshots::of_frame(GstBuffer* frame,
                                                    const PublishSettings& settings) {
  auto picture = take(frame, nullptr, settings.snapshot_size);
  if (!picture) return std::nullopt;
  return addressed(std::move(*picture), settings);
}

std::optional<publish::Picture> Snapshots::of_object(GstBuffer* frame, const GstDvObject& object,
                                                     const PublishSettings& settings) {
  if (!gst_dv_object_has_box(&object)) return std::nullopt;
  auto picture = take(frame, &object, settings.snapshot_size);
  if (!picture) return std::nullopt;
  return addressed(std::move(*picture), settings);
}

}  // namespace dvnn::gst
