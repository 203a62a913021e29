// SPDX-License-Identifier: Apache-2.0
// Lines and discs on a frame of which only the touched parts exist: it is divided into blocks, and
// a block has pixels once something is drawn there. So memory and time have limits, however many
// things are drawn, and however large the frame is.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "draw/color.h"
#include "draw/picture.h"

namespace dvnn::draw {

/// Throws std::bad_alloc.
class Canvas {
 public:
  Canvas(int width, int height) : width_(width), height_(height) {}
  /// A line with round ends, in the frame's pixels. What lies outside the frame is not drawn, and
  /// what is not of numbers is not, either.
  void line(double x0, double y0, double x1, double y1, double thickness, const Color& color);
  /// A disc with a dark rim if it is large enough to have one.
  void disc(double x, double y, double radius, const Color& color);
  /// Appends what was drawn, cut to the pixels that were touched, and begins anew.
  void take(std::vector<Tile>* tiles);

 private:
  struct Block {
    std::vector<uint32_t> pixels;        // premultiplied
    int x0 = 0, y0 = 0, x1 = 0, y1 = 0;  // touched, in the block's pixels
  };
  /// Calls shade(x, y, pixel) for the pixels of a row from x0 up to x1 that are on the frame; false
  /// if no more may be drawn.
  template <typename Shade>
  bool shade_row(double x0, double x1, int y, Shade shade);
  Block* block(int column, int row);

  int width_, height_;
  size_t shaded_ = 0;                            // pixels
  std::map<std::pair<int, int>, Block> blocks_;  // by row and column
};

}  // namespace dvnn::draw
