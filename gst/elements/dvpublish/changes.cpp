// SPDX-License-Identifier: Apache-2.0
#include "elements/dvpublish/changes.h"

#include <algorithm>
#include <cmath>

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

}  // namespace dvnn::gst
