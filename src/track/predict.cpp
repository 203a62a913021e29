// SPDX-License-Identifier: Apache-2.0
// Predicts the boxes of tracks in frames that were not inferred, and of tracks that a look missed.
#include <algorithm>

#include "track/tracker.h"

namespace dvnn::track {
namespace {

// Most of a box's area that other objects may cover; with more, it is not shown.
constexpr double kMostCovered = 0.7;
// Standard deviation of a box's centre, in its widths or heights, beyond which it is not shown.
constexpr double kMostDoubt = 0.4;

}  // namespace

// Whether a track without a detection is shown: it was seen in the last look, the miss is probably
// a slip of the network, or `coast` is not over.
bool Tracker::is_awaited(const Track& track, Time time) const {
  if (track.state == State::kConfirmed) return true;
  if (track.state != State::kLost) return false;
  return (track.missed == 1 && track.hits > 1 && learned_.slips(track.hits)) ||
         time - track.seen <= settings_.coast;
}

// Whether other objects cover the box. Those that stand lower in the picture are nearer.
bool Tracker::is_covered(const Track& track, const image::Corners& box) const {
  const double most = kMostCovered * area_of(box);
  for (const Predicted& other : seen_) {
    const image::Corners& front = other.box;
    if (front.y1 <= box.y1 || front.x1 <= box.x0 || front.x0 >= box.x1 || other.track == &track)
      continue;
    const double width = std::min(box.x1, front.x1) - std::max(box.x0, front.x0);
    const double height = box.y1 - std::max(box.y0, front.y0);
    if (height > 0 && width * height > most) return true;
  }
  return false;
}

void Tracker::add_prediction(Time time, const Track& track) {
  if (!is_awaited(track, time)) return;
  const BoxFilter filter = expected(track, time);
  const image::Corners whole = filter.box();
  if (leaves(track, time)) return;
  // The speed of a track of one detection is unknown.
  if (track.hits == 1 && time - track.seen > settings_.coast &&
      (filter.spread_x() > kMostDoubt * (whole.x1 - whole.x0) ||
       filter.spread_y() > kMostDoubt * (whole.y1 - whole.y0)))
    return;
  const image::Corners box = is_known(edges_) ? visible_part(whole, edges_) : whole;
  if (!is_covered(track, box)) predicted_.push_back({&track, box});
}

void Tracker::show_absent(Time time) {
  const auto is_absent = [&](const Track* track) {
    return !track->shown && is_awaited(*track, time);
  };
  if (std::none_of(tracks_.begin(), tracks_.end(), is_absent)) return;
  collect_seen(time);
  for (const Track* track : tracks_) {
    if (!track->shown) add_prediction(time, *track);
  }
}

void Tracker::collect_seen(Time time) {
  seen_.clear();
  for (const Track* track : tracks_) {
    if (track->shown && track->id != 0) seen_.push_back({track, expected(*track, time).box()});
  }
}

void Tracker::rest_outside(Span<const image::Corners> areas) {
  resting_ = true;
  moving_.assign(areas.begin(), areas.end());
}

// Whether nothing has changed where a track is. A lost one may be anywhere.
bool Tracker::rests(const Track& track) const {
  const image::Corners& box = track.observed;
  return resting_ && track.state != State::kLost &&
         std::none_of(moving_.begin(), moving_.end(),
                      [&](const image::Corners& area) { return meet(box, area); });
}

// Stops the tracks that rest, as if they were seen where they are at `time`.
void Tracker::stand(Time time) {
  for (Track* track : tracks_) {
    if (!rests(*track)) continue;
    track->filter.halt();
    track->seen = std::max(track->seen, time);
  }
}

void Tracker::predict(Time time, const image::Size& frame) {
  begin(time);
  assigned_.clear();
  set_frame(frame);
  stand(time);
  resting_ = false;
  collect_seen(time);
  for (const Track* track : tracks_) add_prediction(time, *track);
}

}  // namespace dvnn::track
