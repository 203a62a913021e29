// SPDX-License-Identifier: Apache-2.0
#include "draw/painter.h"

#include <algorithm>
#include <cmath>

#include "draw/picture.h"
#include "draw/tint.h"
#include "objects/object.h"
#include "objects/skeletons.h"

namespace dvnn::draw {
namespace {

using image::Corners;

// Captions change with confidences, so the cache is bounded: when full, it is emptied.
constexpr size_t kMaxCachedLabels = 512, kMaxCachedColors = 512;
constexpr size_t kMaxCachedBytes = size_t{32} << 20;
constexpr size_t kTextPixels = 1 << 24;  // most of all texts of an application together
constexpr int kMostText = 1000;          // height of an application's letters, pixels
constexpr int kLeastText = 8;            // least height of legible capital letters, pixels
// Most pixels of all masks of a frame together; larger masks are scaled to their places.
constexpr size_t kMaskPixels = 1 << 21;
// Most area that masks cover together, in frames; further ones are left out.
constexpr double kMostMaskFrames = 8;
constexpr double kDotOfSpacing = 0.22;  // radius of a point, in distances to the next point

Corners frame_of(const Style& style) {
  return {0, 0, static_cast<double>(style.frame_width), static_cast<double>(style.frame_height)};
}

int whole(double position) {
  return static_cast<int>(std::lround(position));
}

void add(std::shared_ptr<const Picture> picture, int x, int y, int width, int height,
         std::vector<Tile>* tiles) {
  if (width > 0 && height > 0) tiles->push_back({std::move(picture), x, y, width, height});
}

bool is_seen(const objects::Point& point) {
  return point.confidence >= kLeastPointConfidence;
}

// Returns the distance that evenly spread points would have. Crowded points are drawn smaller.
double spacing_of(const std::vector<objects::Point>& points) {
  Corners around = {INFINITY, INFINITY, -INFINITY, -INFINITY};
  size_t count = 0;
  for (const objects::Point& p : points) {
    if (!is_seen(p)) continue;
    around = {std::min(around.x0, p.x), std::min(around.y0, p.y), std::max(around.x1, p.x),
              std::max(around.y1, p.y)};
    ++count;
  }
  if (count < 2) return INFINITY;
  const double width = around.x1 - around.x0, height = around.y1 - around.y0;
  return std::sqrt(std::max(width * height, 1.0) / static_cast<double>(count));
}

void draw_points(const Item& item, double line, Canvas* canvas) {
  const Color color = color_of(item.color);
  const double spacing = spacing_of(item.object.points);
  const double radius = std::clamp(spacing * kDotOfSpacing, 0.75, 1.5 * line);
  const objects::Skeleton* skeleton = objects::find_skeleton(item.object.skeleton);
  if (skeleton) {
    for (const objects::SkeletonEdge& edge : skeleton->edges) {
      if (edge.from >= item.object.points.size() || edge.to >= item.object.points.size()) continue;
      const objects::Point &a = item.object.points[edge.from], &b = item.object.points[edge.to];
      if (is_seen(a) && is_seen(b)) {
        canvas->line(a.x, a.y, b.x, b.y, std::clamp(radius, 1.0, line), color);
      }
    }
  }
  for (const objects::Point& p : item.object.points) {
    if (is_seen(p)) canvas->disc(p.x, p.y, radius, color);
  }
}

void draw_outline(const Item& item, double line, Canvas* canvas) {
  const Color color = color_of(item.color);
  for (size_t i = 0; i < item.object.outline.size(); ++i) {
    const objects::Point& a = item.object.outline[i];
    const objects::Point& b = item.object.outline[(i + 1) % item.object.outline.size()];
    canvas->line(a.x, a.y, b.x, b.y, line, color);
  }
}

}  // namespace

void Painter::configure(const Style& style) {
  solids_.clear();
  labels_.clear();
  label_bytes_ = 0;
  style_ = style;
  const int height = style.frame_height;
  if (style_.line <= 0) style_.line = std::max(2, height / 240);
  if (style_.text_height <= 0) style_.text_height = height / 45;
  style_.text_height = std::max(kLeastText, std::min(style_.text_height, height));
  TextStyle text;
  text.pixel_shape = style.pixel_shape;
  text.room_x = style.frame_width;
  text.room_y = height;
  typesetter_.set_style(text);
}

Painter::PicturePtr Painter::solid(int color) {
  if (solids_.size() >= kMaxCachedColors) solids_.clear();
  PicturePtr& picture = solids_[color];
  if (!picture) {
    auto made = std::make_shared<Picture>(2, 2, true);  // the fewest that can be scaled
    std::fill(made->argb.begin(), made->argb.end(), color_of(color).pixel());
    picture = std::move(made);
  }
  return picture;
}

Painter::PicturePtr Painter::line_of_text(const std::string& text, int height, uint32_t ink,
                                          uint32_t ground) {
  const auto key = std::make_tuple(text, height, ink, ground);
  if (const auto found = labels_.find(key); found != labels_.end()) return found->second;
  if (labels_.size() >= kMaxCachedLabels || label_bytes_ > kMaxCachedBytes) {
    labels_.clear();
    label_bytes_ = 0;
  }
  PicturePtr made = typesetter_.line(text, height, ink, ground);
  label_bytes_ += made->argb.size() * sizeof(uint32_t);
  return labels_[key] = std::move(made);
}

Painter::PicturePtr Painter::label(const std::string& text, int color) {
  const Color ground = color_of(color);
  return line_of_text(text, style_.text_height, ink_on(ground), ground.pixel());
}

void Painter::paint_masks(const std::vector<Item>& items, std::vector<Tile>* tiles) const {
  const auto masks =
      static_cast<size_t>(std::count_if(items.begin(), items.end(), [](const Item& item) {
        return item.shown && item.object.mask.there();
      }));
  double room = kMostMaskFrames * style_.frame_width * style_.frame_height;
  for (const Item& item : items) {
    if (!item.shown || !item.object.mask.there()) continue;
    // A mask may cover the whole input of the network, so it is cut at its object's box.
    Corners bounds = frame_of(style_);
    Corners place = item.object.box;
    if (item.is_box() && objects::clip_box(bounds, &place)) bounds = place;
    const auto tile = mask_tile(item.object, item.color, bounds, kMaskPixels / masks);
    if (!tile) continue;
    room -= static_cast<double>(tile->width) * tile->height;
    if (room < 0) return;
    tiles->push_back(*tile);
  }
}

void Painter::paint_box(const Item& item, std::vector<Tile>* tiles) {
  Corners place = item.object.box;
  if (!objects::clip_box(frame_of(style_), &place)) return;
  const int line_y = std::max(1, style_.line);
  const int line_x = std::max(1, whole(style_.line / style_.pixel_shape));
  const int x0 = whole(place.x0), y0 = whole(place.y0);
  const int x1 = whole(place.x1), y1 = whole(place.y1);
  const int w = x1 - x0, h = y1 - y0;
  const PicturePtr pixels = solid(item.color);
  add(pixels, x0, y0, w, std::min(line_y, h), tiles);
  add(pixels, x0, std::max(y0, y1 - line_y), w, std::min(line_y, h), tiles);
  add(pixels, x0, y0, std::min(line_x, w), h, tiles);
  add(pixels, std::max(x0, x1 - line_x), y0, std::min(line_x, w), h, tiles);
}

void Painter::paint_shapes(const std::vector<Item>& items, std::vector<Tile>* tiles) const {
  Canvas canvas(style_.frame_width, style_.frame_height);
  const double line = style_.line;
  for (const Item& item : items) {
    if (!item.shown) continue;
    if (!item.object.outline.empty()) draw_outline(item, line, &canvas);
    if (!item.object.points.empty()) draw_points(item, line, &canvas);
  }
  canvas.take(tiles);
}

void Painter::paint_figures(const std::vector<Figure>& figures, std::vector<Tile>* tiles) const {
  if (figures.empty()) return;
  Canvas canvas(style_.frame_width, style_.frame_height);
  for (const Figure& figure : figures) draw_figure(figure, style_.line, &canvas);
  canvas.take(tiles);
}

// Adds a label, moved so that it is on the frame.
void Painter::add_label(const PicturePtr& text, int x, int y, std::vector<Tile>* tiles) const {
  add(text, std::clamp(x, 0, std::max(0, style_.frame_width - text->width)),
      std::clamp(y, 0, std::max(0, style_.frame_height - text->height)), text->width, text->height,
      tiles);
}

void Painter::paint_name(const Figure& figure, std::vector<Tile>* tiles) {
  if (figure.text.empty() || figure.points.empty()) return;
  const objects::Point& at = figure.points[0];
  if (!std::isfinite(at.x) || !std::isfinite(at.y)) return;
  const PicturePtr text = label(figure.text, figure.color);
  add_label(text, whole(std::clamp<double>(at.x, 0, style_.frame_width)),
            whole(std::clamp<double>(at.y, 0, style_.frame_height)) - text->height, tiles);
}

// Draws a caption below the object or region that it describes, and below earlier ones; if there is
// no room, inside.
void Painter::paint_part(const Item& item, const Item* before, int* row, std::vector<Tile>* tiles) {
  Corners place = item.object.box;
  if (item.caption.empty() || !objects::clip_box(frame_of(style_), &place)) return;
  *row = before && before->is_part() && before->object.box == item.object.box ? *row + 1 : 0;
  const PicturePtr text = label(item.caption, item.color);
  const int below = whole(place.y1) + *row * text->height;
  add_label(text, whole(place.x0), std::min(below, style_.frame_height - text->height), tiles);
}

void Painter::paint_label(const Item& item, int* row, std::vector<Tile>* tiles) {
  Corners place = item.object.box;
  const bool placed = item.is_box() && objects::clip_box(frame_of(style_), &place);
  if (item.caption.empty() || item.is_box() != placed) return;
  const PicturePtr text = label(item.caption, item.color);
  // Above the box, or inside it if there is no room.
  const int x0 = placed ? whole(place.x0) : 0, y0 = placed ? whole(place.y0) : 0;
  const int rows = std::max(1, style_.frame_height / std::max(1, text->height));
  int y = placed ? y0 - text->height : std::min((*row)++, rows) * text->height;
  if (y < 0) y = y0;
  add_label(text, x0, y, tiles);
}

// Makes a text a picture at a whole place, where its letters are sharp.
void Painter::set_text(Shape* shape) {
  const double most = std::min(style_.frame_height, kMostText);
  const int height =
      shape->size > 0 ? whole(std::clamp(shape->size, 1.0, most)) : style_.text_height;
  const PicturePtr text = line_of_text(shape->text, height, shape->color, shape->fill);
  objects::Point corner = shape->points[0];
  corner.x = std::round(corner.x);
  corner.y = std::round(corner.y);
  shape->kind = Shape::Kind::kPicture;
  shape->points.assign(3, corner);
  shape->points[1].x += text->width;
  shape->points[2].y += text->height;
  shape->pixels = text->argb.data();
  shape->width = text->width;
  shape->height = text->height;
  shape->owner = text;
}

// Draws the shapes below the objects, or those above them.
void Painter::paint_drawing(const std::vector<Shape>& shapes, bool below,
                            std::vector<Tile>* tiles) {
  std::vector<Shape> drawn;
  size_t pixels = 0;
  for (const Shape& shape : shapes) {
    if (shape.below != below || shape.points.empty()) continue;
    const bool is_text = shape.kind == Shape::Kind::kText;
    if (is_text && pixels > kTextPixels) continue;
    drawn.push_back(shape);
    if (!is_text) continue;
    set_text(&drawn.back());
    pixels += grid_size(drawn.back().width, drawn.back().height);
  }
  if (drawn.empty()) return;
  draw_shapes(drawn, style_.frame_width, style_.frame_height, style_.line, tiles);
}

std::vector<Tile> Painter::paint(const std::vector<Item>& items, const std::vector<Figure>& figures,
                                 const std::vector<Shape>& shapes, const HeatMap& heat) {
  std::vector<Tile> tiles;
  if (style_.frame_width < 1 || style_.frame_height < 1) return tiles;
  if (const auto tile = heat_tile(heat)) tiles.push_back(*tile);
  paint_drawing(shapes, true, &tiles);
  paint_objects(items, figures, &tiles);
  paint_drawing(shapes, false, &tiles);
  return tiles;
}

void Painter::paint_objects(const std::vector<Item>& items, const std::vector<Figure>& figures,
                            std::vector<Tile>* tiles) {
  paint_masks(items, tiles);
  paint_figures(figures, tiles);
  for (const Item& item : items) {
    if (item.shown && item.is_box() && item.object.outline.empty()) paint_box(item, tiles);
  }
  paint_shapes(items, tiles);
  for (const Figure& figure : figures) paint_name(figure, tiles);
  int row = 0, part_row = 0;
  const Item* before = nullptr;
  for (const Item& item : items) {
    if (item.shown && item.is_part()) {
      paint_part(item, before, &part_row, tiles);
    } else if (item.shown) {
      paint_label(item, &row, tiles);
    }
    before = &item;
  }
}

}  // namespace dvnn::draw
