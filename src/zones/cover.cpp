// SPDX-License-Identifier: Apache-2.0
#include "zones/cover.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace dvnn::zones {
namespace {

std::optional<Corner> corner_of(const Ground& ground, const image::Size& frame, double x,
                                double y) {
  const auto found = on_ground(ground, frame, x, y);
  if (!found) return {};
  return Corner{found->at.x, found->at.y};
}

// Returns the square on the ground that an object takes up, or nothing beyond the horizon.
std::vector<Corner> footprint(const Ground& ground, const image::Size& frame,
                              const image::Corners& box) {
  const auto left = corner_of(ground, frame, box.x0, box.y1);
  const auto right = corner_of(ground, frame, box.x1, box.y1);
  const auto middle = on_ground(ground, frame, (box.x0 + box.x1) / 2, box.y1);
  if (!left || !right || !middle) return {};
  const double x = right->x - left->x, y = right->y - left->y;
  // Across the lower edge, to the side to which a step up in the picture goes.
  const double side = -y * -middle->xy + x * -middle->yy < 0 ? -1 : 1;
  return {*left,
          *right,
          {right->x - side * y, right->y + side * x},
          {left->x - side * y, left->y + side * x}};
}

}  // namespace

void Cover::configure(const std::vector<Point>& area, const std::optional<Ground>& ground,
                      const image::Size& frame) {
  area_ = corners_of(area);
  ground_ = ground;
  frame_ = frame;
  std::vector<Corner> metres;
  for (const Corner& corner : area_) {
    const auto at = ground ? corner_of(*ground, frame, corner.x, corner.y) : std::nullopt;
    if (at) metres.push_back(*at);
  }
  if (metres.size() == area_.size()) {
    area_ = std::move(metres);
  } else {
    ground_.reset();
  }
  size_ = area_of(area_);
}

double Cover::share(const image::Corners& box) const {
  const std::vector<Corner> object = ground_ ? footprint(*ground_, frame_, box) : corners_of(box);
  if (object.empty() || !(size_ > 0)) return 0;
  return std::min(1.0, common_area(area_, object) / size_);
}

}  // namespace dvnn::zones
