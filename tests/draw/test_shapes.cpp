// SPDX-License-Identifier: Apache-2.0
// An application's shapes on a gray picture, against coverages that are counted at many points of
// each pixel.
#include <algorithm>
#include <cmath>
#include <random>

#include "draw/shape.h"
#include "photo.h"

namespace dvnn::test::shapes_tests {

DVNN_SUITE(draw_shapes);

using namespace dvnn::draw;
using namespace dvnn::draw::test;

namespace {

using Points = std::vector<objects::Point>;

// Beyond the edges of blocks of 256 pixels.
constexpr int kWidth = 300, kHeight = 280;
constexpr int kFine = 8;            // places along a pixel's side that are looked at
constexpr int kNear = 255 / 8 + 3;  // what a coverage of so few places may be wrong by

Photo paint_shapes(const std::vector<Shape>& shapes, const std::vector<Item>& items = {},
                   int width = kWidth, int height = kHeight) {
  Painter painter;
  Style style;
  style.frame_width = width;
  style.frame_height = height;
  style.line = 2;
  painter.configure(style);
  Photo photo(width, height);
  const std::vector<Tile> tiles = painter.paint(items, {}, shapes);
  for (const Tile& tile : tiles) {
    ck_assert(tile.x >= 0 && tile.y >= 0 && tile.x + tile.width <= width &&
              tile.y + tile.height <= height);
  }
  blend(tiles, {photo.bgr.data(), width, height, width * 3});
  return photo;
}

uint32_t rgb_at(const Photo& photo, int x, int y) {
  const uint8_t* p = &photo.bgr[static_cast<size_t>((y * photo.width + x) * 3)];
  return static_cast<uint32_t>(p[2] << 16 | p[1] << 8 | p[0]);
}

double channel(uint32_t color, int index) {
  return color >> (8 * index) & 255;
}

// The part of a pixel in which `inside` holds, whose edge is `distance` from the pixel's middle.
template <typename Inside>
double coverage(int x, int y, double distance, Inside inside) {
  if (std::fabs(distance) > 1) return inside(x + 0.5, y + 0.5);
  int count = 0;
  for (int i = 0; i < kFine; ++i) {
    for (int j = 0; j < kFine; ++j) {
      count += inside(x + (i + 0.5) / kFine, y + (j + 0.5) / kFine);
    }
  }
  return static_cast<double>(count) / (kFine * kFine);
}

bool is_inside(const Points& corners, double x, double y) {
  bool inside = false;
  for (size_t i = 0, j = corners.size() - 1; i < corners.size(); j = i++) {
    const objects::Point &a = corners[i], &b = corners[j];
    if ((a.y > y) != (b.y > y) && x < (b.x - a.x) * (y - a.y) / (b.y - a.y) + a.x) inside = !inside;
  }
  return inside;
}

double distance_of(const Points& points, bool closed, double x, double y) {
  double nearest = 1e9;
  for (size_t i = closed ? 0 : 1; i < points.size(); ++i) {
    const objects::Point &a = points[i > 0 ? i - 1 : points.size() - 1], &b = points[i];
    const double dx = b.x - a.x, dy = b.y - a.y, squared = dx * dx + dy * dy;
    const double t =
        squared > 0 ? std::clamp(((x - a.x) * dx + (y - a.y) * dy) / squared, 0.0, 1.0) : 0;
    nearest = std::min(nearest, std::hypot(x - a.x - t * dx, y - a.y - t * dy));
  }
  return nearest;
}

// Lays a shape over what was there by the definition of alpha.
void lay(uint32_t color, double covered, double* rgb) {
  const double alpha = channel(color, 3) / 255 * covered;
  for (int c = 0; c < 3; ++c) rgb[c] = rgb[c] * (1 - alpha) + channel(color, c) * alpha;
}

void check_against_definition(const std::vector<Shape>& shapes, unsigned seed) {
  const Photo photo = paint_shapes(shapes);
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) {
      double wanted[3] = {kGray, kGray, kGray};
      for (const Shape& shape : shapes) {
        const bool closed = shape.kind == Shape::Kind::kPolygon;
        const double distance = distance_of(shape.points, closed, x + 0.5, y + 0.5);
        const auto filled = [&](double u, double v) { return is_inside(shape.points, u, v); };
        const auto drawn = [&](double u, double v) {
          return distance_of(shape.points, closed, u, v) < shape.size / 2;
        };
        if (closed) lay(shape.fill, coverage(x, y, distance, filled), wanted);
        lay(shape.color, coverage(x, y, distance - shape.size / 2, drawn), wanted);
      }
      for (int c = 0; c < 3; ++c) {
        const double have = photo.bgr[static_cast<size_t>((y * kWidth + x) * 3 + c)];
        ck_assert_msg(std::fabs(have - wanted[c]) < kNear, "seed %u: %g instead of %g at %d,%d",
                      seed, have, wanted[c], x, y);
      }
    }
  }
}

Shape line_of(const Points& points, uint32_t color, double thickness) {
  Shape shape;
  shape.points = points;
  shape.color = color;
  shape.size = thickness;
  return shape;
}

Shape polygon_of(const Points& points, uint32_t color, uint32_t fill, double thickness) {
  Shape shape = line_of(points, color, thickness);
  shape.kind = Shape::Kind::kPolygon;
  shape.fill = fill;
  return shape;
}

Shape picture_of(const std::vector<uint32_t>& pixels, int width, const Points& corners) {
  Shape shape;
  shape.kind = Shape::Kind::kPicture;
  shape.points = corners;
  shape.pixels = pixels.data();
  shape.width = width;
  shape.height = static_cast<int>(pixels.size()) / width;
  return shape;
}

}  // namespace

DVNN_TEST(shapes_cover_what_their_definition_says) {
  const unsigned seed = std::random_device()();
  std::mt19937 random(seed);
  auto between = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  for (int round = 0; round < std::max(1, dvnn_rounds(6)); ++round) {
    std::vector<Shape> shapes;
    for (int i = 0; i < 3; ++i) {
      Points points(3 + random() % 4);
      for (objects::Point& p : points)
        p = {between(-60, kWidth + 60), between(-60, kHeight + 60), 1};
      const auto color = static_cast<uint32_t>(random());
      shapes.push_back(random() % 2 ? line_of(points, color, between(1, 20))
                                    : polygon_of(points, color, static_cast<uint32_t>(random()),
                                                 between(1, 20)));
    }
    check_against_definition(shapes, seed);
  }
}

DVNN_TEST(polygons_are_filled_by_the_even_odd_rule) {
  const Points star = {{150, 20}, {220, 240}, {40, 100}, {260, 100}, {80, 240}};
  check_against_definition({polygon_of(star, 0, 0xff00ff00, 1)}, 0);
  ck_assert_int_eq(paint_shapes({polygon_of(star, 0, 0xff00ff00, 1)}).contrast(150, 140), 0);
}

// Where a transparent line crosses itself, it is as dark as elsewhere, also at the edge of a block.
DVNN_TEST(a_transparent_line_is_even) {
  const Points cross = {{20, 100}, {280, 100}, {280, 40}, {100, 40}, {100, 200}};
  const Photo photo = paint_shapes({line_of(cross, 0x80ff0000, 12)});
  const uint32_t even = rgb_at(photo, 40, 100);
  ck_assert_uint_ne(even, kGray * 0x10101u);
  for (int x = 30; x < 270; ++x) ck_assert_uint_eq(rgb_at(photo, x, 100), even);
  for (int y = 50; y < 190; ++y) ck_assert_uint_eq(rgb_at(photo, 100, y), even);
}

DVNN_TEST(pictures_are_laid_where_their_corners_are) {
  const std::vector<uint32_t> pixels = {0xffff0000, 0xff00ff00, 0xff0000ff,   // red, green, blue
                                        0xffffffff, 0xff000000, 0x80800000};  // half red
  const auto at = [](const Photo& photo, int x, int y) { return rgb_at(photo, 254 + x, 100 + y); };
  // Upright across the edge of a block, mirrored, and turned by a quarter.
  Photo photo = paint_shapes({picture_of(pixels, 3, {{254, 100}, {257, 100}, {254, 102}})});
  const uint32_t upright[] = {0xff0000, 0x00ff00, 0x0000ff, 0xffffff, 0x000000};
  for (int i = 0; i < 5; ++i) ck_assert_uint_eq(at(photo, i % 3, i / 3), upright[i]);
  const uint32_t half = at(photo, 2, 1);
  ck_assert_int_le(std::abs(static_cast<int>(half >> 16) - 192), 1);
  ck_assert_int_le(std::abs(static_cast<int>(half & 255) - 64), 1);
  ck_assert_int_eq(photo.contrast(253, 100) + photo.contrast(257, 100) + photo.contrast(254, 102),
                   0);
  photo = paint_shapes({picture_of(pixels, 3, {{257, 100}, {254, 100}, {257, 102}})});
  ck_assert_uint_eq(at(photo, 0, 0), 0x0000ff);
  ck_assert_uint_eq(at(photo, 2, 0), 0xff0000);
  ck_assert_uint_eq(at(photo, 2, 1), 0xffffff);
  photo = paint_shapes({picture_of(pixels, 3, {{256, 100}, {256, 103}, {254, 100}})});
  ck_assert_uint_eq(at(photo, 1, 0), 0xff0000);
  ck_assert_uint_eq(at(photo, 1, 2), 0x0000ff);
  ck_assert_uint_eq(at(photo, 0, 0), 0xffffff);
  ck_assert_uint_eq(at(photo, 0, 1), 0x000000);
}

DVNN_TEST(pictures_are_scaled_to_their_place_with_sharp_edges) {
  const std::vector<uint32_t> pixels(4, 0xffff0000);
  const Photo photo = paint_shapes({picture_of(pixels, 2, {{10, 20}, {290, 20}, {10, 270}})});
  check_pixels(photo, "picture",
               [](int x, int y) { return x >= 10 && x < 290 && y >= 20 && y < 270 ? 1 : 0; });
  ck_assert_uint_eq(rgb_at(photo, 10, 20), 0xff0000);
  ck_assert_uint_eq(rgb_at(photo, 289, 269), 0xff0000);
}

DVNN_TEST(texts_begin_at_their_place_in_their_size_and_colors) {
  Shape text;
  text.kind = Shape::Kind::kText;
  text.points = {{40, 50}};
  text.text = "HHHH";
  text.color = 0xffff0000;
  const auto inked = [](const Photo& photo) {
    image::Corners box = {1e9, 1e9, 0, 0};
    for (int y = 0; y < photo.height; ++y) {
      for (int x = 0; x < photo.width; ++x) {
        if (photo.contrast(x, y) < 100) continue;
        box = {std::min<double>(box.x0, x), std::min<double>(box.y0, y),
               std::max<double>(box.x1, x + 1), std::max<double>(box.y1, y + 1)};
      }
    }
    return box;
  };
  for (const double size : {12.0, 30.0, 60.0}) {
    text.size = size;
    const image::Corners box = inked(paint_shapes({text}));
    ck_assert_msg(std::fabs(box.y1 - box.y0 - size) <= 0.1 * size + 1, "%g high letters, not %g",
                  box.y1 - box.y0, size);
    ck_assert(box.x0 > 40 && box.x0 < 40 + size && box.y0 > 50 && box.y0 < 50 + size);
  }
  text.size = 0;  // that of the style, 8 for so small a frame
  const image::Corners box = inked(paint_shapes({text}));
  ck_assert(std::fabs(box.y1 - box.y0 - 8) <= 2);
  text.fill = 0xff0000ff;
  ck_assert_uint_eq(rgb_at(paint_shapes({text}), 40, 50), 0x0000ff);
  ck_assert_int_eq(paint_shapes({text}).contrast(39, 50), 0);
}

DVNN_TEST(shapes_are_below_or_above_the_objects) {
  Item item;
  item.object.box = {50, 50, 150, 150};
  const Points square = {{40, 40}, {160, 40}, {160, 160}, {40, 160}};
  Shape shape = polygon_of(square, 0, 0xff123456, 1);
  ck_assert_uint_eq(rgb_at(paint_shapes({shape}, {item}), 50, 100), 0x123456);
  shape.below = true;
  const Photo below = paint_shapes({shape}, {item});
  ck_assert_uint_ne(rgb_at(below, 50, 100), 0x123456);
  ck_assert_uint_eq(rgb_at(below, 100, 100), 0x123456);
}

DVNN_TEST(hostile_shapes_have_limits) {
  const double far = 3.9e6;
  const std::vector<uint32_t> pixel(1, 0xffffffff);
  std::vector<Shape> shapes = {line_of({{kNan, 0}, {1, 1}}, ~0u, 3),
                               line_of({{-kInf, 0}, {kInf, 9}}, ~0u, 3),
                               line_of({{1e300, 0}, {1, 1}}, ~0u, 3),
                               line_of({}, ~0u, 3),
                               line_of({{1, 1}}, ~0u, 3),
                               polygon_of({}, ~0u, ~0u, 1),
                               picture_of(pixel, 1, {{0, 0}, {0, 0}, {0, 0}}),
                               picture_of(pixel, 1, {{0, 0}, {kNan, 0}, {0, 9}}),
                               picture_of(pixel, 1, {{5, 5}, {9, 9}, {9, 9}})};
  shapes[8].pixels = nullptr;
  Shape text;
  text.kind = Shape::Kind::kText;
  text.color = ~0u;
  text.size = 1e9;
  shapes.push_back(text);  // without a place
  ck_assert_int_eq(paint_shapes(shapes).contrast(1, 0), 0);
  // A line across the frame from far away is where it belongs, and so is a polygon around it.
  const Photo across = paint_shapes({line_of({{-far, 100.5}, {far, 100.5}}, 0xffff0000, 5)});
  ck_assert_uint_eq(rgb_at(across, 0, 100), 0xff0000);
  ck_assert_uint_eq(rgb_at(across, 299, 100), 0xff0000);
  ck_assert_int_eq(across.contrast(150, 110), 0);
  const Points around = {{-far, -far}, {far, -far}, {far, far}, {-far, far}};
  ck_assert_uint_eq(rgb_at(paint_shapes({polygon_of(around, 0, 0xff00ff00, 1)}), 299, 279),
                    0x00ff00);
  // So much that a part is left out.
  shapes.assign(1000, polygon_of(around, ~0u, 0x10ffffff, 900));
  text.points = {{0, 0}};
  for (int i = 0; i < 300; ++i) {
    text.text = std::string(500, 'W') + std::to_string(i);
    shapes.push_back(text);
  }
  paint_shapes(shapes);
}

}  // namespace dvnn::test::shapes_tests
