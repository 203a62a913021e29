// SPDX-License-Identifier: Apache-2.0
// Finds exactly where a path touches an open line: from where to where, and on which side of the
// line the path is before and after. Only a path that has been on both sides has crossed; a touch,
// a path along the line and back, and a path round an end are no crossings.
#pragma once

#include <vector>

#include "zones/geometry.h"

namespace dvnn::zones {

struct Contact {
  double begin = 0, end = 0;  // on the path, 0..1
  bool from_start = false;    // the path begins on the line, so `before` is not known
  bool to_end = false;        // the path ends on the line, so `after` is not known yet
  int before = 0, after = 0;  // 1: right of the line, -1: left, 0: beyond its end
};

/// Appends the contacts of the path from `from` to `to`, which differ, ordered by their ends.
/// Successive points of the line must differ.
void find_contacts(const std::vector<Point>& line, const Point& from, const Point& to,
                   std::vector<Contact>* contacts);

}  // namespace dvnn::zones
