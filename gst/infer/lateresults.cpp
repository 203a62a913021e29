// SPDX-License-Identifier: Apache-2.0
#include "infer/lateresults.h"

#include <iterator>
#include <utility>

#include "infer/knowntracks.h"
#include "log.h"

DVNN_LOG_CATEGORY(late_category, "dvlate", "Results that come after their frame")
#undef GST_CAT_DEFAULT
#define GST_CAT_DEFAULT late_category()

namespace dvnn::gst {
namespace {

// Returns the transform that maps a frame with the object at `from` onto one with it at `to`.
image::Transform between(const image::Corners& from, const image::Corners& to) {
  image::Transform change;
  change.scale_x = (to.x1 - to.x0) / (from.x1 - from.x0);
  change.scale_y = (to.y1 - to.y0) / (from.y1 - from.y0);
  change.offset_x = to.x0 - from.x0 * change.scale_x;
  change.offset_y = to.y0 - from.y0 * change.scale_y;
  return change;
}

}  // namespace

void LateResults::reset() {
  tracks_.clear();
  waiting_ = 0;
}

void LateResults::begin_frame(GstClockTime pts, const InferItem& frame) {
  if (GST_CLOCK_TIME_IS_VALID(pts)) {
    if (pts < now_ || tracks_.size() > kMostTracks) reset();
    now_ = pts;
    for (auto track = tracks_.begin(); track != tracks_.end();) {
      const bool old = now_ - track->second.seen > kForgotten;
      if (old && track->second.result) --waiting_;
      track = old ? tracks_.erase(track) : std::next(track);
    }
  }
  for (const Region& region : frame.regions) {
    if (region.followed.track == 0) continue;
    Track& track = tracks_[region.followed.track];
    track.number = frame.number;
    track.seen = now_;
    if (std::exchange(track.result, std::nullopt)) --waiting_;
  }
}

void LateResults::add(InferItem* work) {
  for (Region& region : work->regions) {
    if (region.followed.track == 0 || !has_area(region.followed.box)) continue;
    Track& track = tracks_[region.followed.track];
    if (track.number > work->number) {
      GST_LOG("track %" G_GUINT64_FORMAT ": the result of frame %" G_GUINT64_FORMAT
              " is older than what is known",
              region.followed.track, work->number);
      continue;
    }
    GST_LOG("track %" G_GUINT64_FORMAT ": the result of frame %" G_GUINT64_FORMAT
            " waits for a frame with it",
            region.followed.track, work->number);
    if (!track.result) ++waiting_;
    track.number = work->number;
    track.seen = now_;
    track.result = std::move(region);
  }
}

std::optional<Region> LateResults::take(const Followed& now) {
  const auto track = tracks_.find(now.track);
  if (now.track == 0 || track == tracks_.end() || !track->second.result) return std::nullopt;
  const Followed& then = track->second.result->followed;
  if (then.class_id != now.class_id || !has_area(now.box)) return std::nullopt;
  Region region = std::move(*track->second.result);
  track->second.result.reset();
  --waiting_;
  GST_LOG("track %" G_GUINT64_FORMAT ": a late result joins a frame", now.track);
  const image::Transform moved = between(region.followed.box, now.box);
  region.shown.transform = region.shown.transform.after(moved);
  region.shown.part = moved.apply(region.shown.part);
  region.predicted = true;
  return region;
}

}  // namespace dvnn::gst
