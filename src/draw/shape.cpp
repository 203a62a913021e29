// SPDX-License-Identifier: Apache-2.0
#include "draw/shape.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "draw/cairo_refs.h"
#include "draw/canvas.h"
#include "image/view.h"

namespace dvnn::draw {
namespace {

using image::Corners;

constexpr int kSide = 256;  // width and height of a block, pixels
// Most area that shapes cover together, in frames, or else in pixels; a part of a block costs at
// least kLeastCost.
constexpr double kMostShapeFrames = 8, kMostShapePixels = 1 << 24, kLeastCost = 512;
constexpr double kFarAway = 8e6;  // where cairo's coordinates of 24.8 bits end

// A part of the frame, which gets pixels once something is drawn there.
struct Part {
  std::vector<uint32_t> pixels;  // premultiplied
  ContextPtr context;            // draws in the frame's pixels
  Corners touched = {kSide, kSide, 0, 0};
};

bool is_visible(uint32_t argb) {
  return argb >> 24 != 0;
}

bool are_near(const std::vector<objects::Point>& points) {
  return std::all_of(points.begin(), points.end(), [](const objects::Point& p) {
    return std::fabs(p.x) < kFarAway && std::fabs(p.y) < kFarAway;  // false for NaN, too
  });
}

Corners around(const std::vector<objects::Point>& points) {
  Corners box = {INFINITY, INFINITY, -INFINITY, -INFINITY};
  for (const objects::Point& p : points) {
    box = {std::min(box.x0, p.x), std::min(box.y0, p.y), std::max(box.x1, p.x),
           std::max(box.y1, p.y)};
  }
  return box;
}

// The frame as blocks. Throws std::bad_alloc.
class Sheet {
 public:
  Sheet(int width, int height)
      : width_(width),
        height_(height),
        left_(std::max(kMostShapePixels, kMostShapeFrames * width * height)) {}
  /// Draws a shape; false when no more may be drawn.
  bool draw(const Shape& shape, double line);
  void take(std::vector<Tile>* tiles);

 private:
  using Place = std::pair<int, int>;  // row and column

  template <typename Each>
  bool each_block(const Corners& box, Each each);
  bool fill(const Shape& shape);
  bool stroke(const Shape& shape, double thickness);
  bool lay_picture(const Shape& shape);
  cairo_t* touch(const Place& place, const Corners& box, double cost);

  int width_, height_;
  double left_;  // cost
  std::map<Place, Part> parts_;
};

// Calls each(place, edges) for the blocks that a box touches, until one returns false.
template <typename Each>
bool Sheet::each_block(const Corners& box, Each each) {
  const double x0 = std::max(0.0, std::floor(box.x0)), y0 = std::max(0.0, std::floor(box.y0));
  const double x1 = std::min<double>(width_, std::ceil(box.x1));
  const double y1 = std::min<double>(height_, std::ceil(box.y1));
  if (!(x1 > x0 && y1 > y0)) return true;
  for (int row = static_cast<int>(y0) / kSide; row * kSide < y1; ++row) {
    for (int column = static_cast<int>(x0) / kSide; column * kSide < x1; ++column) {
      const double left = column * kSide, top = row * kSide;
      const Corners edges = {std::max(x0, left), std::max(y0, top), std::min(x1, left + kSide),
                             std::min(y1, top + kSide)};
      if (!each(Place{row, column}, edges)) return false;
    }
  }
  return true;
}

// Returns the context of a block, of which `box` will be drawn; null if that costs too much.
cairo_t* Sheet::touch(const Place& place, const Corners& box, double cost) {
  left_ -= std::max(cost, kLeastCost);
  if (left_ < 0) return nullptr;
  Part& part = parts_[place];
  const double left = place.second * kSide, top = place.first * kSide;
  if (!part.context) {
    part.pixels.assign(size_t{kSide} * kSide, 0);
    part.context = draw_into(part.pixels.data(), kSide, kSide);
    cairo_translate(part.context.get(), -left, -top);
    cairo_set_line_cap(part.context.get(), CAIRO_LINE_CAP_ROUND);
    cairo_set_line_join(part.context.get(), CAIRO_LINE_JOIN_ROUND);
    cairo_set_fill_rule(part.context.get(), CAIRO_FILL_RULE_EVEN_ODD);
  }
  Corners& all = part.touched;
  all = {std::min(all.x0, box.x0 - left), std::min(all.y0, box.y0 - top),
         std::max(all.x1, box.x1 - left), std::max(all.y1, box.y1 - top)};
  return part.context.get();
}

bool Sheet::fill(const Shape& shape) {
  return each_block(around(shape.points), [&](const Place& place, const Corners& edges) {
    cairo_t* context =
        touch(place, edges, image::area_of(edges) + static_cast<double>(shape.points.size()));
    if (!context) return false;
    for (const objects::Point& p : shape.points) cairo_line_to(context, p.x, p.y);
    cairo_close_path(context);
    set_color(context, shape.fill);
    cairo_fill(context);
    return true;
  });
}

// A block's segments are one path, so that a transparent line is as dark where it crosses itself.
bool Sheet::stroke(const Shape& shape, double thickness) {
  const double reach = thickness / 2 + 1;
  std::map<Place, std::vector<Segment>> paths;
  const size_t count = shape.points.size();
  for (size_t i = shape.kind == Shape::Kind::kPolygon ? 0 : 1; i < count; ++i) {
    const objects::Point &a = shape.points[i > 0 ? i - 1 : count - 1], &b = shape.points[i];
    Segment visible = {a.x, a.y, b.x, b.y};
    if (!cut({-reach, -reach, width_ + reach, height_ + reach}, &visible)) continue;
    const Corners box = {
        std::min(visible.x0, visible.x1) - reach, std::min(visible.y0, visible.y1) - reach,
        std::max(visible.x0, visible.x1) + reach, std::max(visible.y0, visible.y1) + reach};
    each_block(box, [&](const Place& place, const Corners&) {
      const double left = place.second * kSide, top = place.first * kSide;
      Segment part = visible;
      if (cut({left - reach, top - reach, left + kSide + reach, top + kSide + reach}, &part)) {
        paths[place].push_back(part);
      }
      return true;
    });
  }
  for (const auto& [place, segments] : paths) {
    Corners box = {INFINITY, INFINITY, -INFINITY, -INFINITY};
    for (const Segment& s : segments) {
      box = {std::min({box.x0, s.x0, s.x1}), std::min({box.y0, s.y0, s.y1}),
             std::max({box.x1, s.x0, s.x1}), std::max({box.y1, s.y0, s.y1})};
    }
    const double left = place.second * kSide, top = place.first * kSide;
    const Corners edges = {std::max(left, std::floor(box.x0 - reach)),
                           std::max(top, std::floor(box.y0 - reach)),
                           std::min(left + kSide, std::ceil(box.x1 + reach)),
                           std::min(top + kSide, std::ceil(box.y1 + reach))};
    if (!image::has_area(edges)) continue;
    const double cost = static_cast<double>(segments.size()) * kSide * reach;
    cairo_t* context = touch(place, edges, std::min(cost, double{kSide} * kSide * 4));
    if (!context) return false;
    for (const Segment& s : segments) {
      cairo_move_to(context, s.x0, s.y0);
      cairo_line_to(context, s.x1, s.y1);
    }
    cairo_set_line_width(context, thickness);
    set_color(context, shape.color);
    cairo_stroke(context);
  }
  return true;
}

bool Sheet::lay_picture(const Shape& shape) {
  if (shape.points.size() != 3 || !shape.pixels || shape.width < 1 || shape.height < 1) return true;
  const objects::Point &corner = shape.points[0], &right = shape.points[1], &low = shape.points[2];
  const cairo_matrix_t place = {(right.x - corner.x) / shape.width,
                                (right.y - corner.y) / shape.width,
                                (low.x - corner.x) / shape.height,
                                (low.y - corner.y) / shape.height,
                                corner.x,
                                corner.y};
  cairo_matrix_t back = place;
  if (cairo_matrix_invert(&back) != CAIRO_STATUS_SUCCESS) return true;  // it has no area
  const SurfacePtr picture(cairo_image_surface_create_for_data(
      reinterpret_cast<unsigned char*>(const_cast<uint32_t*>(shape.pixels)), CAIRO_FORMAT_ARGB32,
      shape.width, shape.height, shape.width * 4));
  std::vector<objects::Point> corners = shape.points;
  corners.insert(corners.begin() + 2, right);
  corners[2].x += low.x - corner.x;
  corners[2].y += low.y - corner.y;
  return each_block(around(corners), [&](const Place& at, const Corners& edges) {
    cairo_t* context = touch(at, edges, image::area_of(edges));
    if (!context) return false;
    cairo_set_source_surface(context, picture.get(), 0, 0);
    cairo_pattern_set_matrix(cairo_get_source(context), &back);
    // Its edges are those of the path, without a blur into what is beyond them.
    cairo_pattern_set_extend(cairo_get_source(context), CAIRO_EXTEND_PAD);
    for (const objects::Point& p : corners) cairo_line_to(context, p.x, p.y);
    cairo_fill(context);
    return true;
  });
}

bool Sheet::draw(const Shape& shape, double line) {
  if (!are_near(shape.points)) return true;
  if (shape.kind == Shape::Kind::kPicture) return lay_picture(shape);
  if (shape.kind == Shape::Kind::kPolygon && is_visible(shape.fill) && !fill(shape)) return false;
  return !is_visible(shape.color) || stroke(shape, shape.size > 0 ? shape.size : line);
}

void Sheet::take(std::vector<Tile>* tiles) {
  for (auto& [place, part] : parts_) {
    finish(part.context.get());
    const int left = place.second * kSide, top = place.first * kSide;
    const int x0 = static_cast<int>(part.touched.x0), y0 = static_cast<int>(part.touched.y0);
    const int x1 = std::min(static_cast<int>(part.touched.x1), width_ - left);
    const int y1 = std::min(static_cast<int>(part.touched.y1), height_ - top);
    if (x1 <= x0 || y1 <= y0) continue;
    auto picture = std::make_shared<Picture>(x1 - x0, y1 - y0, true);
    for (int y = y0; y < y1; ++y) {
      const uint32_t* from = part.pixels.data() + static_cast<ptrdiff_t>(y) * kSide;
      std::copy(from + x0, from + x1,
                picture->argb.begin() + static_cast<ptrdiff_t>(y - y0) * (x1 - x0));
    }
    tiles->push_back({std::move(picture), left + x0, top + y0, x1 - x0, y1 - y0});
  }
  parts_.clear();
}

}  // namespace

void draw_shapes(const std::vector<Shape>& shapes, int frame_width, int frame_height, double line,
                 std::vector<Tile>* tiles) {
  Sheet sheet(frame_width, frame_height);
  for (const Shape& shape : shapes) {
    if (!sheet.draw(shape, line)) break;
  }
  sheet.take(tiles);
}

}  // namespace dvnn::draw
