// SPDX-License-Identifier: Apache-2.0
// Draws lines and discs on a frame, and stores only the parts that they touch. The frame is divided
// into blocks, which get pixels once something is drawn there. Memory and time are bounded, however
// much is drawn and however large the frame is.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "draw/color.h"
#include "draw/picture.h"

namespace dvnn::draw {

/// The pixels drawn on one frame. Functions throw std::bad_alloc.
class Canvas {
 public:
  Canvas(int width, int height) : width_(width), height_(height) {}
  /// Draws a line with round ends, in the frame's pixels. It is clipped to the frame, and not drawn
  /// if a coordinate is not finite.
  void line(double x0, double y0, double x1, double y1, double thickness, const Color& color);
  /// Draws a disc, with a dark rim if it is large enough.
  void disc(double x, double y, double radius, const Color& color);
  /// Appends what was drawn as tiles, cut to the touched pixels, and clears the canvas.
  void take(std::vector<Tile>* tiles);

 private:
  struct Block {
    std::vector<uint32_t> pixels;        // premultiplied
    int x0 = 0, y0 = 0, x1 = 0, y1 = 0;  // the touched part, in the block's pixels
  };
  /// Calls shade(x, y, pixel) for the pixels of a row from x0 up to x1 that are on the frame.
  /// Returns false when the limit of pixels is reached.
  template <typename Shade>
  bool shade_row(double x0, double x1, int y, Shade shade);
  Block* block(int column, int row);

  int width_, height_;
  size_t shaded_ = 0;                            // pixels shaded so far
  std::map<std::pair<int, int>, Block> blocks_;  // by row and column
};

}  // namespace dvnn::draw
