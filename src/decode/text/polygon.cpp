// SPDX-License-Identifier: Apache-2.0
#include "decode/text/polygon.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace dvnn::decode {
namespace {

float turn(const Spot& o, const Spot& a, const Spot& b) {
  return (a.x - o.x) * (b.y - o.y) - (a.y - o.y) * (b.x - o.x);
}

}  // namespace

// Andrew's monotone chain algorithm.
void find_hull(std::vector<Spot>* spots, std::vector<Spot>* hull) {
  std::sort(spots->begin(), spots->end(),
            [](const Spot& a, const Spot& b) { return a.x != b.x ? a.x < b.x : a.y < b.y; });
  hull->clear();
  auto add = [&](const Spot& spot, size_t least) {
    while (hull->size() >= least + 2 && turn((*hull)[hull->size() - 2], hull->back(), spot) <= 0) {
      hull->pop_back();
    }
    hull->push_back(spot);
  };
  for (const Spot& spot : *spots) add(spot, 0);
  const size_t lower = hull->size() - 1;
  for (size_t i = spots->size(); i-- > 0;) add((*spots)[i], lower);
  if (hull->size() > 1) hull->pop_back();
}

// One side of the smallest rectangle is on an edge of the hull.
TurnedRect least_rectangle(const std::vector<Spot>& hull) {
  TurnedRect best;
  float least = std::numeric_limits<float>::infinity();
  for (size_t i = 0; i < hull.size(); ++i) {
    const Spot &a = hull[i], &b = hull[(i + 1) % hull.size()];
    const float length = std::hypot(b.x - a.x, b.y - a.y);
    const Spot u = length > 0 ? Spot{(b.x - a.x) / length, (b.y - a.y) / length} : Spot{1, 0};
    constexpr float kFar = std::numeric_limits<float>::infinity();
    float low_u = kFar, high_u = -kFar, low_v = kFar, high_v = -kFar;
    for (const Spot& p : hull) {
      const float along = p.x * u.x + p.y * u.y, across = p.y * u.x - p.x * u.y;
      low_u = std::min(low_u, along);
      high_u = std::max(high_u, along);
      low_v = std::min(low_v, across);
      high_v = std::max(high_v, across);
    }
    const float area = (high_u - low_u) * (high_v - low_v);
    if (!(area < least)) continue;
    least = area;
    const float mid_u = (low_u + high_u) / 2, mid_v = (low_v + high_v) / 2;
    best = {
        {mid_u * u.x - mid_v * u.y, mid_u * u.y + mid_v * u.x}, u, high_u - low_u, high_v - low_v};
  }
  return best;
}

std::array<Spot, 4> corners_of(const TurnedRect& rect) {
  // Turns by quarters until the first side points to the right.
  Spot u = rect.along;
  float w = rect.width, h = rect.height;
  while (!(u.x > std::abs(u.y) || (u.x > 0 && u.x == u.y))) {
    u = {-u.y, u.x};
    std::swap(w, h);
    if (u.x == -u.y && u.x > 0) break;
  }
  const Spot v = {-u.y, u.x};
  auto corner = [&](float a, float b) {
    return Spot{rect.centre.x + a * w / 2 * u.x + b * h / 2 * v.x,
                rect.centre.y + a * w / 2 * u.y + b * h / 2 * v.y};
  };
  return {{corner(-1, -1), corner(1, -1), corner(1, 1), corner(-1, 1)}};
}

}  // namespace dvnn::decode
