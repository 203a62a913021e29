// SPDX-License-Identifier: Apache-2.0
#include "zones/passage.h"

#include <algorithm>
#include <cmath>

#include "zones/contact.h"

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

// Finds the line's crossings: contacts after which the path is on the other side than before.
void Passage::cross_line(const Edges& edges, const Point& from, const Point& to,
                         std::vector<Found>* found) {
  if (from == to) return;
  static thread_local std::vector<Contact> contacts;
  contacts.clear();
  find_contacts(edges.points, from, to, &contacts);
  int stays = 0;
  for (const Contact& contact : contacts) {
    const int before = contact.from_start ? before_ : contact.before;
    if (contact.to_end) {
      stays = before;
    } else if (before * contact.after < 0) {
      found->push_back({contact.end, contact.after});
    }
  }
  before_ = stays;
}

// Adds new crossings and returns how many of the waiting ones count now: the first ones, up to the
// last place at which the path was off the edges.
size_t Passage::cross(const Edges& edges, const Point& from, Time begin, const Point& to,
                      Time end) {
  static thread_local std::vector<Found> found;
  found.clear();
  if (edges.closed) {
    for (size_t i = 0, last = edges.points.size() - 1; i < edges.points.size(); last = i++) {
      Crossing crossing;
      if (crosses(from, to, edges.points[last], edges.points[i], &crossing)) {
        found.push_back({crossing.at, crossing.direction});
      }
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const Found& p, const Found& q) { return p.at < q.at; });
  } else {
    cross_line(edges, from, to, &found);
  }
  // Whether the path was off the edges between two of its places. Between two contacts with a line
  // without a band it always was.
  const bool always = !edges.closed && !(edges.band > 0);
  const auto off = [&](double begins, double ends) {
    return always || (ends > begins && edges.is_off(point_at(from, to, (begins + ends) / 2)));
  };
  if (!waiting_.empty()) waiting_.back().deep |= off(0, found.empty() ? 1 : found[0].at);
  for (size_t i = 0; i < found.size(); ++i) {
    const double next = i + 1 < found.size() ? found[i + 1].at : 1;
    waiting_.push_back(
        {time_at(begin, end, found[i].at), found[i].direction, off(found[i].at, next)});
  }
  size_t settled = waiting_.size();
  if (!edges.is_off(to)) {
    while (settled > 0 && !waiting_[settled - 1].deep) --settled;
  }
  // A crossing and the crossing back cancel out if the path was not off the edges in between.
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
