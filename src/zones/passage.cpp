// SPDX-License-Identifier: Apache-2.0
#include "zones/passage.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "zones/geometry.h"

namespace dvnn::zones {
namespace {

// Where exactly a path touches an open line: from where to where, and on which side of the line the
// path is before and after. Only a path that has been on both sides has crossed; a touch, a path
// along the line and back, and a path round an end are no crossings.
struct Contact {
  double begin = 0, end = 0;  // on the path, 0..1
  bool from_start = false;    // the path begins on the line, so `before` is not known
  bool to_end = false;        // the path ends on the line, so `after` is not known yet
  int before = 0, after = 0;  // 1: right of the line, -1: left, 0: beyond its end
};

Point step_of(const Point& from, const Point& to) {
  return {to.x - from.x, to.y - from.y};
}

// A point of contact: a corner of the line on the path, or an end of the path on the line.
struct Spot {
  Point point;
  size_t edge = 1;         // index of the line's point at the end of the edge
  bool is_corner = false;  // the contact is that point
};

// Returns the side of the line on which a path is that leaves `spot` in `direction`.
int side_of(const std::vector<Point>& line, const Spot& spot, const Point& direction) {
  const size_t at = spot.edge;
  const Point nowhere{0, 0};
  const Point along = at > 0 ? step_of(line[at - 1], line[at]) : step_of(line[0], line[1]);
  if (!spot.is_corner || at == 0 || at + 1 == line.size()) {
    return sign(turn(nowhere, along, direction));
  }
  // Around a corner, the right side is the angle clockwise from the next edge to the previous one.
  const Point on = step_of(line[at], line[at + 1]), back = step_of(line[at], line[at - 1]);
  const int bend = sign(turn(nowhere, on, back));
  const int off_on = sign(turn(nowhere, on, direction));
  const int off_back = sign(turn(nowhere, direction, back));
  if (bend == 0) {
    // The line goes straight on, or turns back onto itself, where both sides count as none.
    const bool straight = along.x * on.x >= 0 && along.y * on.y >= 0;
    return straight ? off_on : 0;
  }
  if (bend > 0) return off_on > 0 && off_back > 0 ? 1 : -1;
  return off_on < 0 && off_back < 0 ? -1 : 1;
}

// The spots of one contact, which it turns into a Contact.
class Run {
 public:
  Run(const std::vector<Point>& line, const Point& from, const Point& to)
      : line_(line), from_(from), to_(to), step_(step_of(from, to)) {}

  void add(const Spot& spot) {
    if (empty_ || along(spot.point) < along(first_.point)) first_ = spot;
    if (empty_ || along(spot.point) > along(last_.point)) last_ = spot;
    empty_ = false;
  }
  // Appends the contact if there is one, and begins anew.
  void take(std::vector<Contact>* contacts) {
    if (empty_) return;
    empty_ = true;
    Contact contact;
    contact.begin = part(first_.point);
    contact.end = part(last_.point);
    contact.from_start = first_.point == from_;
    contact.to_end = last_.point == to_;
    contact.before = side_of(line_, first_, {-step_.x, -step_.y});
    contact.after = side_of(line_, last_, step_);
    contacts->push_back(contact);
  }

 private:
  // Returns the distance of a point of the path from its start, along the longer axis.
  int64_t along(const Point& p) const {
    return std::abs(step_.x) >= std::abs(step_.y) ? std::abs(p.x - from_.x)
                                                  : std::abs(p.y - from_.y);
  }
  double part(const Point& p) const {
    return static_cast<double>(along(p)) / static_cast<double>(along(to_));
  }

  const std::vector<Point>& line_;
  const Point from_, to_, step_;
  bool empty_ = true;
  Spot first_, last_;
};

// Appends the crossing with an edge whose corners are not on the path and on which the path does
// not end.
void add_crossing(const Point& from, const Point& to, const Point& a, const Point& b,
                  std::vector<Contact>* contacts) {
  const int64_t start = turn(a, b, from), end = turn(a, b, to);
  if (sign(start) == sign(end) || sign(turn(from, to, a)) == sign(turn(from, to, b))) return;
  Contact contact;
  const double s = static_cast<double>(start), e = static_cast<double>(end);
  contact.begin = contact.end = std::clamp(s / (s - e), 0.0, 1.0);
  contact.before = sign(start);
  contact.after = sign(end);
  contacts->push_back(contact);
}

// Appends the contacts of the path from `from` to `to`, which differ, ordered by their ends.
// Successive points of the line must differ.
void find_contacts(const std::vector<Point>& line, const Point& from, const Point& to,
                   std::vector<Contact>* contacts) {
  const size_t begin = contacts->size();
  Run run(line, from, to);
  bool a_on = line.size() > 1 && lies_on(from, to, line[0]);
  if (a_on) run.add({line[0], 0, true});
  for (size_t i = 1; i < line.size(); ++i) {
    const Point &a = line[i - 1], &b = line[i];
    const bool b_on = lies_on(from, to, b);
    bool ends = false;  // whether the path does, between the edge's corners
    for (const Point& end : {from, to}) {
      if (end == a || end == b || !lies_on(a, b, end)) continue;
      run.add({end, i, false});
      ends = true;
    }
    if (!a_on && !b_on && !ends) add_crossing(from, to, a, b, contacts);
    // Parts of an edge that lie on the path are joined to the corners that do.
    if (b_on) {
      run.add({b, i, true});
    } else {
      run.take(contacts);
    }
    a_on = b_on;
  }
  run.take(contacts);
  std::stable_sort(contacts->begin() + static_cast<ptrdiff_t>(begin), contacts->end(),
                   [](const Contact& p, const Contact& q) { return p.end < q.end; });
}

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
