// SPDX-License-Identifier: Apache-2.0
#include "objects/frame_map.h"

#include <algorithm>
#include <utility>

#include "base/grid.h"
#include "image/view.h"

namespace dvnn::objects {

bool clip_box(const image::Corners& bounds, image::Corners* box) {
  box->x0 = std::clamp(box->x0, bounds.x0, bounds.x1);
  box->x1 = std::clamp(box->x1, bounds.x0, bounds.x1);
  box->y0 = std::clamp(box->y0, bounds.y0, bounds.y1);
  box->y1 = std::clamp(box->y1, bounds.y0, bounds.y1);
  return image::has_area(*box);  // false for NaN, which clamp() passes on
}

namespace {

struct ToFrame {
  const image::Transform& transform;
  double width, height;  // of the network's input
  std::vector<uint8_t>* turned;

  image::Corners operator()(const image::Corners& part) const {
    return transform.invert({part.x0 * width, part.y0 * height, part.x1 * width, part.y1 * height});
  }
  void operator()(std::vector<Point>* points) const {
    for (Point& point : *points) {
      point.x *= width;
      point.y *= height;
      transform.invert(&point.x, &point.y);
    }
  }
  void operator()(Mask* mask) const {
    if (transform.is_sheared()) mask->width = mask->height = 0, mask->cells.clear();
    mask->place = (*this)(mask->place);
    const image::CellTurn turn = image::turn_back(transform);
    const size_t cells = grid_size(mask->width, mask->height);
    if (!turn.moves() || cells == 0 || mask->cells.size() < cells) return;
    turned->resize(cells);
    image::turn_cells(turn, mask->cells.data(), mask->width, mask->height, turned->data());
    std::copy(turned->begin(), turned->end(), mask->cells.resize(cells));
    if (turn.swap_xy) std::swap(mask->width, mask->height);
  }
};

}  // namespace

void map_to_frame(const FrameMap& map, Objects* objects) {
  std::vector<uint8_t> turned;  // allocates only if cells have to be turned
  const ToFrame to_frame{map.transform, map.input.width, map.input.height, &turned};
  objects->remove_if([&](Object& object) {
    if (map.transform.is_sheared() && object.kind == Kind::kDetection && object.outline.empty()) {
      const image::Corners& b = object.box;
      object.outline = {{b.x0, b.y0}, {b.x1, b.y0}, {b.x1, b.y1}, {b.x0, b.y1}};
    }
    object.box = to_frame(object.box);
    to_frame(&object.outline);
    to_frame(&object.points);
    to_frame(&object.mask);
    return map.clip && !clip_box(*map.clip, &object.box);
  });
}

}  // namespace dvnn::objects
