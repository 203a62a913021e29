// SPDX-License-Identifier: Apache-2.0
// A gray picture to draw on, and a check of which pixels were drawn.
#pragma once

#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>

#include "check_suite.h"
#include "draw/painter.h"
#include "draw/picture.h"

namespace dvnn::draw::test {

constexpr int kGray = 128;

struct Photo {
  int width, height;
  std::vector<uint8_t> bgr;

  Photo(int w, int h)
      : width(w), height(h), bgr(static_cast<size_t>(w) * static_cast<size_t>(h) * 3, kGray) {}
  int contrast(int x, int y) const {
    int most = 0;
    for (size_t c = 0; c < 3; ++c) {
      const size_t at =
          (static_cast<size_t>(y) * static_cast<size_t>(width) + static_cast<size_t>(x)) * 3 + c;
      most = std::max(most, std::abs(bgr[at] - kGray));
    }
    return most;
  }
};

inline Photo paint(const std::vector<Item>& items, int width, int height, int line = 2,
                   double pixel_shape = 1, const std::vector<Figure>& figures = {}) {
  Painter painter;
  Style style;
  style.frame_width = width;
  style.frame_height = height;
  style.line = line;
  style.pixel_shape = pixel_shape;
  painter.configure(style);
  Photo photo(width, height);
  const std::vector<Tile> tiles = painter.paint(items, figures);
  for (const Tile& tile : tiles) {
    ck_assert_msg(tile.x >= 0 && tile.y >= 0 && tile.width > 0 && tile.height > 0 &&
                      tile.x + tile.width <= width && tile.y + tile.height <= height,
                  "a tile of %dx%d at %d,%d", tile.width, tile.height, tile.x, tile.y);
    ck_assert_uint_eq(tile.picture->argb.size(), static_cast<size_t>(tile.picture->width) *
                                                     static_cast<size_t>(tile.picture->height));
  }
  blend(tiles, {photo.bgr.data(), width, height, width * 3});
  return photo;
}

// Checks every pixel: `wanted` is 1 if it must be drawn on, 0 if it must be untouched, -1 for
// either.
inline void check_pixels(const Photo& photo, const char* what,
                         const std::function<int(int, int)>& wanted) {
  for (int y = 0; y < photo.height; ++y) {
    for (int x = 0; x < photo.width; ++x) {
      const int want = wanted(x, y), have = photo.contrast(x, y);
      if (want > 0) ck_assert_msg(have > 15, "%s: nothing at %d,%d", what, x, y);
      if (want == 0) ck_assert_msg(have == 0, "%s: drawn (%d) at %d,%d", what, have, x, y);
    }
  }
}

inline Item bare() {
  Item item;
  item.object.kind = objects::Kind::kClassification;
  return item;
}

const double kNan = std::numeric_limits<double>::quiet_NaN();
const double kInf = std::numeric_limits<double>::infinity();

}  // namespace dvnn::draw::test
