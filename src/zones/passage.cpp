// SPDX-License-Identifier: Apache-2.0
#include "zones/passage.h"

#include <algorithm>
#include <cmath>

namespace dvnn::zones {
namespace {

Time time_at(Time begin, Time end, double part) {
  return begin + static_cast<Time>(std::llround(part * static_cast<double>(end - begin)));
}

Point point_at(const Point& from, const Point& to, double part) {
  return {from.x + std::llround(part * static_cast<double>(to.x - from.x)),
          from.y + std::llround(part * static_cast<double>(to.y - from.y))};
}

}  // namespace

bool Edges::is_off(const Point& point) const {
  for (size_t i = closed ? 0 : 1; i < points.size(); ++i) {
    const Point& a = points[i > 0 ? i - 1 : points.size() - 1];
    if (band > 0 ? distance(a, points[i], point) <= band : lies_on(a, points[i], point)) {
      return false;
    }
  }
  return true;
}

bool Edges::touches(const Point& point) const {
  for (size_t i = closed ? 0 : 1; i < points.size(); ++i) {
    if (lies_on(points[i > 0 ? i - 1 : points.size() - 1], points[i], point)) return true;
  }
  return false;
}

// Returns how many of those that wait count now: the first ones, up to the last place at which the
// way was off the edges.
size_t Passage::cross(const Edges& edges, const Point& from, Time begin, const Point& to,
                      Time end) {
  struct Found {
    Crossing crossing;
    bool operator<(const Found& other) const { return crossing.at < other.crossing.at; }
  };
  static thread_local std::vector<Found> found;
  found.clear();
  const std::vector<Point>& points = edges.points;
  for (size_t i = edges.closed ? 0 : 1; i < points.size(); ++i) {
    Crossing crossing;
    if (crosses(from, to, points[i > 0 ? i - 1 : points.size() - 1], points[i], &crossing,
                {!edges.closed && i == 1, !edges.closed && i + 1 == points.size()})) {
      found.push_back({crossing});
    }
  }
  std::stable_sort(found.begin(), found.end());
  // Whether the way is off the edges between two of its places.
  const auto off = [&](double begins, double ends) {
    return ends > begins && edges.is_off(point_at(from, to, (begins + ends) / 2));
  };
  size_t first = 0;
  if (on_since_begin_) {
    double on_until = 0;
    for (; first < found.size() && !off(on_until, found[first].crossing.at); ++first) {
      on_until = found[first].crossing.at;
    }
    on_since_begin_ = first == found.size() && !off(on_until, 1) && edges.touches(to);
  }
  if (!waiting_.empty()) {
    waiting_.back().deep |= off(0, found.empty() ? 1 : found[0].crossing.at);
  }
  for (size_t i = first; i < found.size(); ++i) {
    const Crossing& crossing = found[i].crossing;
    const double next = i + 1 < found.size() ? found[i + 1].crossing.at : 1;
    waiting_.push_back(
        {time_at(begin, end, crossing.at), crossing.direction, off(crossing.at, next)});
  }
  size_t settled = waiting_.size();
  if (!edges.is_off(to)) {
    while (settled > 0 && !waiting_[settled - 1].deep) --settled;
  }
  // There and back without having been off in between is nothing.
  size_t kept = 0;
  for (size_t i = 0; i < settled; ++i) {
    const bool back = kept > 0 && !waiting_[kept - 1].deep &&
                      waiting_[kept - 1].direction != waiting_[i].direction;
    if (back) {
      --kept;
    } else {
      waiting_[kept++] = waiting_[i];
    }
  }
  waiting_.erase(waiting_.begin() + static_cast<ptrdiff_t>(kept),
                 waiting_.begin() + static_cast<ptrdiff_t>(settled));
  return kept;
}

}  // namespace dvnn::zones
