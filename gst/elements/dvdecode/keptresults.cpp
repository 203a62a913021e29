// SPDX-License-Identifier: Apache-2.0
#include "elements/dvdecode/keptresults.h"

#include <iterator>
#include <utility>

#include "infer/knowntracks.h"
#include "objects/object.h"

namespace dvnn::gst {
namespace {

// Maps fractions of a box to frame pixels, for map_to_frame().
objects::FrameMap to_frame(const image::Corners& box) {
  objects::FrameMap map;
  map.input = {1, 1};
  map.transform.scale_x = 1 / (box.x1 - box.x0);
  map.transform.scale_y = 1 / (box.y1 - box.y0);
  map.transform.offset_x = -box.x0 * map.transform.scale_x;
  map.transform.offset_y = -box.y0 * map.transform.scale_y;
  return map;
}

// Maps frame pixels to fractions of a box.
objects::FrameMap to_fractions(const image::Corners& box) {
  objects::FrameMap map;
  map.input = {1, 1};
  map.transform.scale_x = box.x1 - box.x0;
  map.transform.scale_y = box.y1 - box.y0;
  map.transform.offset_x = box.x0;
  map.transform.offset_y = box.y0;
  return map;
}

}  // namespace

void KeptResults::begin_frame(GstClockTime pts) {
  ++frame_;
  if (!GST_CLOCK_TIME_IS_VALID(pts)) return;
  if (pts < now_ || tracks_.size() > kMostTracks) reset();
  now_ = pts;
  for (auto known = tracks_.begin(); known != tracks_.end();) {
    const bool old = now_ - known->second.seen > kForgotten;
    known = old ? tracks_.erase(known) : std::next(known);
  }
}

void KeptResults::renew(guint64 track, const image::Corners& box, bool late) {
  Known& known = tracks_[track];
  known.parts.clear();
  known.box = box;
  known.seen = now_;
  known.frame = frame_;
  known.late = late;
  known.compared = false;
}

void KeptResults::add(guint64 track, const objects::Object& found) {
  const auto known = tracks_.find(track);
  if (known == tracks_.end() || !has_area(known->second.box)) return;
  objects::Objects one = {found};
  objects::map_to_frame(to_fractions(known->second.box), &one);
  known->second.parts.take(&one);
}

KeptResults::State KeptResults::agree(guint64 track, const agree::Rules& rules) {
  const auto found = tracks_.find(track);
  if (found == tracks_.end() || found->second.frame != frame_ || found->second.compared) {
    return State::kOpen;
  }
  Known& known = found->second;
  known.reading.add_look(rules, known.parts, known.box.x1 - known.box.x0,
                         known.box.y1 - known.box.y0);
  known.parts = known.reading.results();
  known.compared = true;
  const bool was_settled = std::exchange(known.settled, known.reading.settled());
  if (known.settled) return State::kSettled;
  return was_settled ? State::kReopened : State::kOpen;
}

bool KeptResults::is_seen(guint64 track) const {
  const auto known = tracks_.find(track);
  return known != tracks_.end() && known->second.frame == frame_ && !known->second.late;
}

const objects::Objects* KeptResults::recall(guint64 track, const image::Corners& box) {
  const auto known = tracks_.find(track);
  if (known == tracks_.end()) return nullptr;
  if (known->second.frame == frame_ && !known->second.compared) return nullptr;
  known->second.seen = now_;
  if (known->second.parts.empty() || !has_area(box)) return nullptr;
  moved_ = known->second.parts;
  objects::map_to_frame(to_frame(box), &moved_);
  return &moved_;
}

}  // namespace dvnn::gst
