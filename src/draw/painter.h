// SPDX-License-Identifier: Apache-2.0
// Draws items as tiles for a frame: masks, then figures, boxes, lines and points, and labels last,
// so that text is always legible. Shapes come before all these or after them. Everything is
// bounded, whatever the items are: tiles are on the frame, and caches do not grow with time.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "draw/canvas.h"
#include "draw/item.h"
#include "draw/picture.h"
#include "draw/shape.h"
#include "draw/text.h"
#include "draw/tint.h"

namespace dvnn::draw {

struct Style {
  int frame_width = 0, frame_height = 0;
  double pixel_shape = 1;  // width of a pixel divided by its height
  int line = 0;            // thickness in pixels; 0: derived from the frame's height
  int text_height = 0;     // of capital letters, pixels; 0: derived from the frame's height
};

/// Used by one thread at a time. Throws std::bad_alloc.
class Painter {
 public:
  /// Sets the style and clears the caches.
  void configure(const Style& style);
  /// Draws all: heat below shapes, figures and items; shapes in their order.
  std::vector<Tile> paint(const std::vector<Item>& items, const std::vector<Figure>& figures = {},
                          const std::vector<Shape>& shapes = {}, const HeatMap& heat = {});

 private:
  using PicturePtr = std::shared_ptr<const Picture>;

  void paint_masks(const std::vector<Item>& items, std::vector<Tile>* tiles) const;
  void paint_box(const Item& item, std::vector<Tile>* tiles);
  void paint_shapes(const std::vector<Item>& items, std::vector<Tile>* tiles) const;
  void paint_figures(const std::vector<Figure>& figures, std::vector<Tile>* tiles) const;
  void paint_part(const Item& item, const Item* before, int* row, std::vector<Tile>* tiles);
  void paint_label(const Item& item, int* row, std::vector<Tile>* tiles);
  void paint_objects(const std::vector<Item>& items, const std::vector<Figure>& figures,
                     std::vector<Tile>* tiles);
  void paint_drawing(const std::vector<Shape>& shapes, bool below, std::vector<Tile>* tiles);
  void set_text(Shape* shape);
  void paint_name(const Figure& figure, std::vector<Tile>* tiles);
  void add_label(const PicturePtr& text, int x, int y, std::vector<Tile>* tiles) const;
  PicturePtr solid(int color);
  PicturePtr label(const std::string& text, int color);
  PicturePtr line_of_text(const std::string& text, int height, uint32_t ink, uint32_t ground);

  Style style_;
  Typesetter typesetter_;
  std::map<int, PicturePtr> solids_;
  // By text, height, ink and ground.
  std::map<std::tuple<std::string, int, uint32_t, uint32_t>, PicturePtr> labels_;
  size_t label_bytes_ = 0;
};

}  // namespace dvnn::draw
