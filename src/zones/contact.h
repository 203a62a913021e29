// SPDX-License-Identifier: Apache-2.0
// Finds where a way lies on an open line, exactly: from which of its places to which, and on which
// side of the line it is before and after. What passes a line has been on both sides of it: a
// touch, a way along it and back, and a way round an end are no crossings.
#pragma once

#include <vector>

#include "zones/geometry.h"

namespace dvnn::zones {

struct Contact {
  double begin = 0, end = 0;  // of the way, 0..1
  bool from_start = false;    // the way begins on the line, so that nothing is before
  bool to_end = false;        // it ends on the line, so that nothing is after yet
  int before = 0, after = 0;  // 1: right of the line, -1: left, 0: beyond its end
};

/// Appends the contacts of the way from `from` to `to`, which differ, in the order of their ends.
/// No two of the line's points that follow each other are the same.
void find_contacts(const std::vector<Point>& line, const Point& from, const Point& to,
                   std::vector<Contact>* contacts);

}  // namespace dvnn::zones
