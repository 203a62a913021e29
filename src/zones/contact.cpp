// SPDX-License-Identifier: Apache-2.0
#include "zones/contact.h"

#include <algorithm>
#include <cstdlib>

namespace dvnn::zones {
namespace {

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

}  // namespace

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

}  // namespace dvnn::zones
