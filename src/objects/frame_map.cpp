// SPDX-License-Identifier: Apache-2.0
#include "objects/frame_map.h"

#include <algorithm>

namespace dvnn::objects {

bool clip_box(const image::Corners& bounds, image::Corners* box) {
  box->x0 = std::clamp(box->x0, bounds.x0, bounds.x1);
  box->x1 = std::clamp(box->x1, bounds.x0, bounds.x1);
  box->y0 = std::clamp(box->y0, bounds.y0, bounds.y1);
  box->y1 = std::clamp(box->y1, bounds.y0, bounds.y1);
  // Written so that NaN, which clamp() lets through, fails it, too.
  return box->x1 > box->x0 && box->y1 > box->y0;
}

void map_to_frame(const FrameMap& map, Objects* objects) {
  const double width = map.input.width, height = map.input.height;
  size_t kept = 0;
  for (Object& object : *objects) {
    const image::Corners& b = object.box;
    object.box = map.transform.invert({b.x0 * width, b.y0 * height, b.x1 * width, b.y1 * height});
    if (map.clip && !clip_box({0, 0, map.clip->width, map.clip->height}, &object.box)) continue;
    Object& place = (*objects)[kept++];
    if (&place != &object) place = std::move(object);
  }
  objects->resize(kept);
}

}  // namespace dvnn::objects
