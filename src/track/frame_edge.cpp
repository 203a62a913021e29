// SPDX-License-Identifier: Apache-2.0
#include "track/frame_edge.h"

#include <algorithm>

namespace dvnn::track {
namespace {

// Least visible share of a box's area; with less, the object has left.
constexpr double kLeastVisible = 0.3;

}  // namespace

bool is_known(const image::Size& frame) {
  return frame.width > 0 && frame.height > 0;
}

image::Corners visible_part(const image::Corners& box, const image::Size& frame) {
  return {std::max(box.x0, 0.0), std::max(box.y0, 0.0), std::min(box.x1, frame.width),
          std::min(box.y1, frame.height)};
}

bool is_outside(const image::Corners& box, const image::Size& frame) {
  if (!is_known(frame)) return false;
  const image::Corners part = visible_part(box, frame);
  return !(part.x1 > part.x0 && part.y1 > part.y0);
}

bool has_left(const image::Corners& box, const image::Size& frame) {
  return is_outside(box, frame) ||
         (is_known(frame) && area_of(visible_part(box, frame)) < kLeastVisible * area_of(box));
}

bool touches_edge(const image::Corners& box, const image::Size& frame) {
  return is_known(frame) &&
         (box.x0 <= 1 || box.y0 <= 1 || box.x1 >= frame.width - 1 || box.y1 >= frame.height - 1);
}

int edge_within(const image::Corners& box, const image::Size& frame, int axis, double reach) {
  if (!is_known(frame)) return 0;
  const double low = axis == 0 ? box.x0 : box.y0;
  const double high = axis == 0 ? frame.width - box.x1 : frame.height - box.y1;
  if (std::min(low, high) > reach) return 0;
  return low < high ? -1 : 1;
}

double way_inward(const image::Corners& first, const image::Corners& now, int axis, int edge) {
  if (edge < 0) return axis == 0 ? now.x1 - first.x1 : now.y1 - first.y1;
  return axis == 0 ? first.x0 - now.x0 : first.y0 - now.y0;
}

Cuts::Cuts(const image::Corners& box, const image::Size& frame, double off) {
  if (!is_known(frame)) return;
  const bool left = box.x0 <= off, right = box.x1 >= frame.width - off;
  const bool top = box.y0 <= off, bottom = box.y1 >= frame.height - off;
  width = left || right;
  height = top || bottom;
  x = right - left;
  y = bottom - top;
}

}  // namespace dvnn::track
