// SPDX-License-Identifier: Apache-2.0
// Shapes that an application wants to be drawn, in colours of its own that may be transparent.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "draw/picture.h"
#include "objects/object.h"

namespace dvnn::draw {

struct Shape {
  enum class Kind : uint8_t { kLine, kPolygon, kText, kPicture };
  Kind kind = Kind::kLine;
  // In pixels of the frame; clipped to it. Of a text its upper left corner, of a picture where its
  // upper left, upper right and lower left corners are.
  std::vector<objects::Point> points;
  uint32_t color = 0, fill = 0;  // 0xAARRGGBB, not premultiplied; `fill` is a text's ground, too
  double size = 0;   // thickness of a line or height of capital letters, pixels; 0: the style's
  std::string text;  // one line of UTF-8
  // Of a picture, premultiplied, as those of Picture; valid as long as `owner` lives.
  const uint32_t* pixels = nullptr;
  int width = 0, height = 0;
  std::shared_ptr<const void> owner;
  bool below = false;  // whether objects cover it
};

/// Draws lines, polygons and pictures in order, in lines `line` pixels thick unless they have a
/// thickness. Appends the touched parts of the frame as tiles. Memory and time are bounded: what
/// exceeds them is not drawn. Throws std::bad_alloc.
void draw_shapes(const std::vector<Shape>& shapes, int frame_width, int frame_height, double line,
                 std::vector<Tile>* tiles);

}  // namespace dvnn::draw
