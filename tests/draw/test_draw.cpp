// SPDX-License-Identifier: Apache-2.0
// Drawings on a gray picture, pixel by pixel: each thing is drawn where it is, and nothing is drawn
// elsewhere.
#include <cmath>
#include <limits>

#include "draw/obscure.h"
#include "draw/picture.h"
#include "photo.h"

namespace dvnn::test::draw_tests {

DVNN_SUITE(draw);

using namespace dvnn::draw;
using namespace dvnn::draw::test;

namespace {

// A map of classes, or else a mask of an object.
void set_mask(Item* item, const image::Corners& place, int width, int height,
              const std::vector<uint8_t>& cells, objects::Kind kind = objects::Kind::kDetection) {
  if (kind == objects::Kind::kSegmentation) item->object.kind = kind;
  objects::Mask& mask = item->object.mask;
  mask.place = place;
  mask.width = width;
  mask.height = height;
  std::copy(cells.begin(), cells.end(), mask.cells.resize(cells.size()));
}

double distance_to(double px, double py, double x0, double y0, double x1, double y1) {
  const double dx = x1 - x0, dy = y1 - y0;
  const double t =
      std::min(1.0, std::max(0.0, ((px - x0) * dx + (py - y0) * dy) / (dx * dx + dy * dy)));
  return std::hypot(px - x0 - t * dx, py - y0 - t * dy);
}

// 1 within a line, 0 away from it, -1 at its edge.
int of_line(double distance, double half) {
  return distance < half - 0.75 ? 1 : distance > half + 0.75 ? 0 : -1;
}

}  // namespace

DVNN_TEST(boxes_are_four_lines) {
  Item item;
  item.object.box = {20, 30, 70, 60};
  check_pixels(paint({item}, 100, 80), "box", [](int x, int y) {
    const bool inside = x >= 20 && x < 70 && y >= 30 && y < 60;
    return inside && (x < 22 || x >= 68 || y < 32 || y >= 58) ? 1 : 0;
  });
}

// Across blocks, whose edges are at multiples of 128.
DVNN_TEST(outlines_are_drawn_instead_of_boxes) {
  Item item;
  item.object.box = {100, 40, 300, 200};
  item.object.outline = {{200, 40, 1}, {300, 120, 1}, {200, 200, 1}, {100, 120, 1}};
  check_pixels(paint({item}, 320, 240, 5), "outline", [&](int x, int y) {
    double nearest = 1e9;
    for (size_t i = 0; i < 4; ++i) {
      const objects::Point &a = item.object.outline[i], &b = item.object.outline[(i + 1) % 4];
      nearest = std::min(nearest, distance_to(x + 0.5, y + 0.5, a.x, a.y, b.x, b.y));
    }
    return of_line(nearest, 2.5);
  });
}

// An open way down and right, whose right is left of it, and then below it.
DVNN_TEST(figures_are_drawn_with_their_arrows) {
  Figure figure;
  figure.points = {{50, 20, 1}, {50, 140, 1}, {90, 140, 1}};
  for (const bool closed : {false, true}) {
    figure.closed = closed;
    figure.arrow = !closed;
    check_pixels(paint({}, 160, 180, 4, 1, {figure}), "figure", [&](int x, int y) {
      const double px = x + 0.5, py = y + 0.5;
      double nearest =
          std::min(distance_to(px, py, 50, 20, 50, 140), distance_to(px, py, 50, 140, 90, 140));
      if (closed) nearest = std::min(nearest, distance_to(px, py, 90, 140, 50, 20));
      if (!closed) {
        // Half of its 160 pixels down.
        nearest =
            std::min({nearest, distance_to(px, py, 50, 100, 18, 100),
                      distance_to(px, py, 18, 100, 30, 88), distance_to(px, py, 18, 100, 30, 112)});
      }
      return of_line(nearest, 2);
    });
  }
}

// The columns and rows at the frame's edges are drawn on like others.
DVNN_TEST(a_line_that_leaves_the_frame_reaches_its_edge) {
  Figure across, down;
  across.points = {{-50, 30, 1}, {150, 30, 1}};
  down.points = {{40, -50, 1}, {40, 150, 1}};
  check_pixels(paint({}, 100, 80, 6, 1, {across, down}), "cross", [](int x, int y) {
    return of_line(std::min(std::abs(y + 0.5 - 30), std::abs(x + 0.5 - 40)), 3);
  });
}

DVNN_TEST(ways_of_tracks_grow_thicker) {
  Figure figure;
  figure.points = {{10, 30, 1}, {50, 30, 1}, {90, 30, 1}, {130, 30, 1}};
  figure.tapers = true;
  const Photo photo = paint({}, 160, 60, 9, 1, {figure});
  const auto thickness = [&](int x) {
    int rows = 0;
    for (int y = 0; y < 60; ++y) rows += photo.contrast(x, y) > 60;
    return rows;
  };
  ck_assert_int_le(std::abs(thickness(30) - 3), 1);
  ck_assert_int_le(std::abs(thickness(70) - 6), 1);
  ck_assert_int_le(std::abs(thickness(110) - 9), 1);
}

DVNN_TEST(hostile_figures_have_limits) {
  Figure figure;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  figure.text = "name";
  figure.arrow = true;
  for (const bool closed : {false, true}) {
    figure.closed = closed;
    for (const objects::Point& at : {objects::Point{nan, nan, 1}, objects::Point{1e300, -1e300, 1},
                                     objects::Point{INFINITY, 0, 1}, objects::Point{5, 5, 1}}) {
      figure.points.assign(1, at);
      paint({}, 64, 64, 2, 1, {figure});
      figure.points.push_back(at);
      figure.points.push_back({20, 20, 1});
      paint({}, 64, 64, 2, 1, {figure});
    }
    figure.points.clear();
    paint({}, 64, 64, 2, 1, {figure});
  }
}

DVNN_TEST(points_and_skeletons_are_drawn_where_they_were_seen) {
  Item item = bare();
  item.object.skeleton = "coco-17";
  item.object.points.resize(17);
  for (objects::Point& p : item.object.points) p.confidence = 0;
  item.object.points[5] = {60, 60, 0.9f};  // shoulders, which a line joins
  item.object.points[6] = {240, 180, 0.9f};
  item.object.points[0] = {10, 200, 0.1f};  // hardly seen
  check_pixels(paint({item}, 320, 240, 4), "skeleton", [](int x, int y) {
    const double line = distance_to(x + 0.5, y + 0.5, 60, 60, 240, 180);
    const double ends =
        std::min(std::hypot(x + 0.5 - 60, y + 0.5 - 60), std::hypot(x + 0.5 - 240, y + 0.5 - 180));
    if (ends < 5) return 1;
    return ends < 9 ? -1 : of_line(line, 2);
  });
  item.object.skeleton.clear();  // the same points without the line
  const Photo photo = paint({item}, 320, 240, 4);
  ck_assert_int_gt(photo.contrast(60, 60), 15);
  ck_assert_int_eq(photo.contrast(150, 120), 0);
}

DVNN_TEST(many_points_are_drawn_small) {
  Item item = bare();
  for (int i = 0; i < 400; ++i)
    item.object.points.push_back({100.0 + i % 20 * 5, 100.0 + i / 20 * 5, 1});
  const Photo photo = paint({item}, 320, 320, 8);
  ck_assert_int_gt(photo.contrast(100, 100), 15);
  int drawn = 0;
  for (int y = 90; y < 210; ++y) {
    for (int x = 90; x < 210; ++x) drawn += photo.contrast(x, y) > 40;
  }
  ck_assert_msg(drawn > 400 && drawn < 4000, "%d pixels", drawn);  // 10,000 would hide the face
}

DVNN_TEST(masks_tint_their_cells) {
  Item item;
  item.object.box = {40, 40, 120, 120};
  item.color = 1;
  // The right half of the box.
  set_mask(&item, {40, 40, 120, 120}, 2, 1, {0, 255});
  const Photo photo = paint({item}, 160, 160, 1);
  for (int y = 44; y < 116; ++y) {
    for (int x = 44; x < 116; ++x) {
      if (x < 70) ck_assert_int_eq(photo.contrast(x, y), 0);
      if (x > 90) ck_assert_int_gt(photo.contrast(x, y), 15);
    }
  }
  // The edge is soft: colours in between.
  bool between = false;
  for (int x = 70; x < 90; ++x) {
    const int c = photo.contrast(x, 80);
    between |= c > 5 && c < photo.contrast(100, 80) - 5;
  }
  ck_assert(between);
  // Nothing beyond the box, though the mask goes on there.
  set_mask(&item, {0, 0, 160, 160}, 1, 1, {255});
  check_pixels(paint({item}, 160, 160, 1), "mask",
               [](int x, int y) { return x >= 40 && x < 120 && y >= 40 && y < 120 ? 1 : 0; });
}

DVNN_TEST(maps_tint_each_class_and_leave_the_background) {
  Item item = bare();
  set_mask(&item, {0, 0, 160, 160}, 4, 4, {0, 0, 1, 1, 0, 0, 1, 1, 2, 2, 0, 0, 2, 2, 0, 0},
           objects::Kind::kSegmentation);
  const Photo photo = paint({item}, 160, 160);
  check_pixels(photo, "map", [](int x, int y) { return (x < 80) != (y < 80) ? 1 : 0; });
  ck_assert_int_ne(photo.bgr[3 * (20 * 160 + 120)], photo.bgr[3 * (120 * 160 + 20)]);
}

// Large masks are painted with fewer pixels and scaled: cells have to stay where they are.
DVNN_TEST(scaled_masks_stay_in_their_places) {
  constexpr int kWidth = 3840, kHeight = 2160;
  Item item = bare();
  set_mask(&item, {0, 0, kWidth, kHeight}, 2, 1, {0, 3}, objects::Kind::kSegmentation);
  const Photo photo = paint({item}, kWidth, kHeight);
  for (int y = 0; y < kHeight; y += 97) {
    for (int x = 0; x < kWidth; x += 1) {
      if (x < kWidth / 2 - 4) ck_assert_int_eq(photo.contrast(x, y), 0);
      if (x > kWidth / 2 + 4) ck_assert_int_gt(photo.contrast(x, y), 15);
    }
  }
}

DVNN_TEST(a_mask_beyond_the_frame_is_cut) {
  Item item = bare();
  // As of a letterboxed network: half of it lies above and below the frame.
  set_mask(&item, {0, -40, 80, 80}, 1, 3, {1, 0, 1}, objects::Kind::kSegmentation);
  check_pixels(paint({item}, 80, 60), "cut", [](int, int y) { return y < 40 ? 0 : 1; });
}

DVNN_TEST(what_is_not_shown_is_not_drawn) {
  Item item;
  item.object.box = {20, 20, 60, 60};
  item.caption = "label";
  item.object.points = {{40, 40, 1}};
  item.shown = false;
  check_pixels(paint({item}, 80, 80), "hidden", [](int, int) { return 0; });
}

DVNN_TEST(hostile_items_have_limits) {
  std::vector<Item> items;
  const double bad[] = {kNan, kInf, -kInf, 1e300, -1e300, 1e9, -5, 0, 63.9};
  for (double a : bad) {
    for (double b : bad) {
      Item item;
      item.object.box = {a, b, b, a};
      item.color = std::numeric_limits<int>::min();
      item.object.points = {{a, b, 1}, {b, a, 1}, {a, a, static_cast<float>(kNan)}};
      item.object.outline = {{a, b, 1}, {b, a, 1}, {10, 10, 1}};
      item.object.skeleton = "face-5";
      set_mask(&item, {a, b, b, a}, 2, 2, {255, 255, 255, 255});
      items.push_back(item);
      item.object.kind = objects::Kind::kSegmentation;
      items.push_back(item);
    }
  }
  paint(items, 64, 64);
  items.clear();
  // Thousands of points and masks over a large frame: an end comes soon.
  for (int i = 0; i < 1000; ++i) {
    Item item = bare();
    for (int p = 0; p < 20; ++p) {
      item.object.points.push_back({p * 190.0, (i * 7 + p * 131) % 2160 * 1.0, 1});
      item.object.outline.push_back({p % 2 * 3839.0, (i * 13 + p * 17) % 2160 * 1.0, 1});
    }
    set_mask(&item, {0, 0, 3840, 2160}, 1, 1, {200});
    items.push_back(item);
  }
  Painter painter;
  Style style;
  style.frame_width = 3840;
  style.frame_height = 2160;
  painter.configure(style);
  size_t bytes = 0;
  double masks = 0;
  for (const Tile& tile : painter.paint(items)) {
    bytes += tile.picture->argb.size() * 4;
    if (!tile.picture->premultiplied) masks += double(tile.width) * tile.height;
  }
  ck_assert_uint_lt(bytes, size_t{64} << 20);
  ck_assert_double_le(masks, 8.0 * 3840 * 2160);
}

DVNN_TEST(obscured_samples_are_averages) {
  for (int bytes : {1, 2}) {
    for (int step : {1, 3}) {
      const int shift = bytes == 2 ? 6 : 0, stride = 20 * bytes * step;
      std::vector<uint8_t> data(static_cast<size_t>(stride) * 10, 0);
      Samples s;
      s.data = data.data(), s.stride = stride, s.step = bytes * step;
      s.width = 20, s.height = 10, s.bytes = bytes, s.shift = shift;
      auto at = [&](int x, int y) { return data.data() + y * stride + x * bytes * step; };
      auto value = [&](int x, int y) {
        return bytes == 1 ? *at(x, y) : at(x, y)[0] | at(x, y)[1] << 8;
      };
      auto fill = [&] {
        for (int y = 0; y < 10; ++y) {
          for (int x = 0; x < 20; ++x) {
            const int v = (x % 2 ? 200 : 100) << (bytes == 2 ? 7 : 0);
            at(x, y)[0] = static_cast<uint8_t>(v);
            if (bytes == 2) at(x, y)[1] = static_cast<uint8_t>(v >> 8);
          }
        }
      };
      for (Obscure how : {Obscure::kPixelate, Obscure::kBlur}) {
        fill();
        const std::vector<uint8_t> before = data;
        obscure(s, {4, 2, 12, 6}, 4, 4, how);
        for (int y = 0; y < 10; ++y) {
          for (int x = 0; x < 20; ++x) {
            const bool inside = x >= 4 && x < 12 && y >= 2 && y < 6;
            const int wanted = (inside ? 150 : x % 2 ? 200 : 100) << (bytes == 2 ? 7 : 0);
            ck_assert_msg(value(x, y) == wanted, "%d bytes, step %d: %d at %d,%d", bytes, step,
                          value(x, y), x, y);
          }
        }
        // Bytes between the samples are others'.
        for (size_t i = 0; i < data.size(); ++i) {
          if (static_cast<int>(i) % (bytes * step) >= bytes) {
            ck_assert_uint_eq(data[i], before[i]);
          }
        }
      }
      obscure(s, {-5, -5, 1 << 30, 1 << 30}, 0, 0, Obscure::kPixelate);  // cut to what there is
    }
  }
}

DVNN_TEST(blurred_samples_change_smoothly) {
  std::vector<uint8_t> data(64 * 64);
  for (size_t i = 0; i < data.size(); ++i) data[i] = i % 64 < 32 ? 0 : 200;
  Samples s;
  s.data = data.data(), s.stride = 64, s.width = 64, s.height = 64;
  std::vector<uint8_t> squares = data;
  obscure(s, {0, 0, 64, 64}, 16, 16, Obscure::kBlur);
  s.data = squares.data();
  obscure(s, {8, 0, 56, 64}, 16, 16, Obscure::kPixelate);
  int steepest = 0;
  for (size_t x = 1; x < 64; ++x) {
    steepest = std::max(steepest, std::abs(data[64 * 9 + x] - data[64 * 9 + x - 1]));
  }
  ck_assert_int_le(steepest, 14);
  ck_assert_int_eq(squares[64 * 9 + 8], 0);
  ck_assert_int_eq(squares[64 * 9 + 24], 100);
  ck_assert_int_eq(squares[64 * 9 + 39], 100);
  ck_assert_int_eq(squares[64 * 9 + 40], 200);
}

// Where a rectangle lies says nothing of how it is blurred.
DVNN_TEST(a_blur_is_the_same_wherever_it_is) {
  constexpr int kSide = 32, kX = 21, kY = 13;
  std::vector<uint8_t> small(kSide * kSide), large(64 * 64, 7);
  for (int y = 0; y < kSide; ++y) {
    for (int x = 0; x < kSide; ++x) {
      const auto value = static_cast<uint8_t>((x * 37 + y * 101 + x * y * 13) % 256);
      small[static_cast<size_t>(y * kSide + x)] = value;
      large[static_cast<size_t>((y + kY) * 64 + x + kX)] = value;
    }
  }
  Samples s;
  s.data = small.data(), s.stride = s.width = s.height = kSide;
  obscure(s, {0, 0, kSide, kSide}, 8, 8, Obscure::kBlur);
  s.data = large.data(), s.stride = s.width = s.height = 64;
  obscure(s, {kX, kY, kX + kSide, kY + kSide}, 8, 8, Obscure::kBlur);
  for (int y = 0; y < 64; ++y) {
    for (int x = 0; x < 64; ++x) {
      const bool inside = x >= kX && x < kX + kSide && y >= kY && y < kY + kSide;
      const int wanted = inside ? small[static_cast<size_t>((y - kY) * kSide + x - kX)] : 7;
      ck_assert_int_eq(large[static_cast<size_t>(y * 64 + x)], wanted);
    }
  }
}

DVNN_TEST(neighbouring_colors_differ) {
  for (int i = 0; i < 100; ++i) {
    const Color a = color_of(i), b = color_of(i + 1);
    ck_assert_double_gt(
        std::fabs(a.red - b.red) + std::fabs(a.green - b.green) + std::fabs(a.blue - b.blue), 0.5);
  }
  ck_assert_uint_eq(color_of(0).pixel(), 0xffff2424);  // red, nearly pure
}

}  // namespace dvnn::test::draw_tests
