// SPDX-License-Identifier: Apache-2.0
#include "regions/tiles.h"

#include <algorithm>
#include <clocale>
#include <cmath>
#include <random>

#include "check_suite.h"

namespace dvnn::test::tiles_tests {

DVNN_SUITE(regions_tiles);

using namespace dvnn::regions;
using objects::Object;
using objects::Objects;

namespace {

// Two tiles side by side, which share the columns from 80 to 120, and the whole.
const image::Size kFrame = {200, 100};
const std::vector<image::Corners> kTiles = {{0, 0, 120, 100}, {80, 0, 200, 100}, {0, 0, 200, 100}};

Object found(uint32_t tile, const image::Corners& box, float confidence, int class_id = 0) {
  Object object;
  object.region = tile;
  object.box = box;
  object.confidence = confidence;
  object.class_id = class_id;
  return object;
}

Objects merged(Objects objects, double threshold = 0.5) {
  merge_tiles(kTiles, kFrame, threshold, &objects);
  return objects;
}

}  // namespace

DVNN_TEST(grids_are_read) {
  const auto grids = parse_grids("3x2, 1x1");
  ck_assert(grids.ok());
  ck_assert_uint_eq(grids.value().size(), 2);
  ck_assert_int_eq(grids.value()[0].columns, 3);
  ck_assert_int_eq(grids.value()[0].rows, 2);
  const auto scales = parse_grids("2.25,1, 0.4");
  ck_assert(scales.ok());
  ck_assert_uint_eq(scales.value().size(), 3);
  ck_assert_double_eq(scales.value()[0].scale, 2.25);
  for (const char* wrong : {"", "17", "0", "-1", "nan", "0.01", "2.5y", "3x", "0x1", "3x-2", "17x1",
                            "3x2,", "3x2;1x1", "3x2x1", "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1"}) {
    ck_assert_msg(!parse_grids(wrong).ok(), "'%s'", wrong);
  }
}

DVNN_TEST(a_point_is_a_point_in_every_locale) {
  // This shows nothing on a system without such a locale.
  if (!std::setlocale(LC_NUMERIC, "de_DE.UTF-8")) return;
  const auto grids = parse_grids("1.5");
  std::setlocale(LC_NUMERIC, "C");
  ck_assert(grids.ok());
  ck_assert_double_eq(grids.value()[0].scale, 1.5);
}

DVNN_TEST(scales_show_the_whole_so_much_larger) {
  const image::RelativeRect whole;
  for (const double overlap : {0.0, 0.2, 0.5}) {
    for (const double scale : {1.0, 1.25, 1.5, 2.0, 2.5, 7.3}) {
      const auto tiles = tiles_of({{1, 1, scale}}, overlap, whole);
      const auto side = static_cast<size_t>(std::lround(std::sqrt(tiles.size())));
      ck_assert_uint_eq(tiles.size(), side * side);
      ck_assert_double_eq_tol(tiles.back().x + tiles.back().width, 1, 1e-9);
      for (size_t i = 0; i < tiles.size(); ++i) {
        ck_assert(tiles[i].check().ok());
        ck_assert_double_eq_tol(tiles[i].width, 1 / scale, 1e-9);
        if (i % side == 0) continue;
        const double shared = tiles[i - 1].x + tiles[i - 1].width - tiles[i].x;
        ck_assert_double_ge(shared / tiles[i].width, overlap - 1e-6);
      }
      // No more of them than that takes.
      const double fewest = (scale - overlap) / (1 - overlap);
      ck_assert_double_lt(static_cast<double>(side), fewest + 1);
    }
  }
  // Some are enough to cover the whole, and no more than for a grid.
  ck_assert_uint_eq(tiles_of({{1, 1, 16}}, 0.9, whole).size(), 256);
  const auto small = tiles_of({{1, 1, 0.5}}, 0.2, {0.5, 0, 0.5, 1});
  ck_assert_uint_eq(small.size(), 1);
  ck_assert(small[0] == (image::RelativeRect{0.5, 0, 1, 2}));
}

DVNN_TEST(tiles_cover_the_whole_and_share_what_they_should) {
  for (const double overlap : {0.0, 0.2, 0.5, 0.9}) {
    for (int columns = 1; columns <= 16; ++columns) {
      const image::RelativeRect whole = {0.1, 0, 0.9, 1};
      const auto tiles = tiles_of({{columns, 1}}, overlap, whole);
      ck_assert_uint_eq(tiles.size(), static_cast<size_t>(columns));
      ck_assert_double_eq_tol(tiles.front().x, 0.1, 1e-12);
      ck_assert_double_eq_tol(tiles.back().x + tiles.back().width, 1, 1e-12);
      for (size_t i = 0; i < tiles.size(); ++i) {
        ck_assert(tiles[i].check().ok());
        ck_assert_double_eq_tol(tiles[i].height, 1, 1e-12);
        if (i == 0) continue;
        const double shared = tiles[i - 1].x + tiles[i - 1].width - tiles[i].x;
        ck_assert_double_eq_tol(shared, overlap * tiles[i].width, 1e-9);
      }
    }
  }
  const auto both = tiles_of({{2, 2}, {1, 1}}, 0.2, {});
  ck_assert_uint_eq(both.size(), 5);
  ck_assert(both.back() == image::RelativeRect());
}

DVNN_TEST(regions_of_any_kind_are_merged_by_confidence) {
  // The more confident one ends at its region's edge, which says nothing here.
  Objects all = {found(0, {100, 20, 120, 60}, 0.9f), found(1, {98, 20, 121, 60}, 0.6f),
                 found(2, {10, 20, 40, 60}, 0.7f), found(3, {10, 20, 40, 60}, 0.5f, 1)};
  merge_regions(0.5, &all);
  ck_assert_uint_eq(all.size(), 3);
  ck_assert_uint_eq(all[0].region, 0);
  ck_assert_uint_eq(all[1].region, 2);
  ck_assert_uint_eq(all[2].region, 3);
}

DVNN_TEST(a_box_that_a_tiles_edge_cuts_yields_to_the_whole_one) {
  // The whole one is less confident, and the fragment is the smaller one.
  const Objects left =
      merged({found(0, {100, 20, 120, 60}, 0.9f), found(1, {100, 20, 160, 60}, 0.6f)});
  ck_assert_uint_eq(left.size(), 1);
  ck_assert_uint_eq(left[0].region, 1);
}

DVNN_TEST(an_edge_of_the_frame_cuts_nothing) {
  const Objects left = merged({found(0, {0, 20, 60, 60}, 0.9f), found(2, {0, 20, 64, 60}, 0.6f)});
  ck_assert_uint_eq(left.size(), 1);
  ck_assert_uint_eq(left[0].region, 0);
}

DVNN_TEST(of_two_whole_ones_the_more_confident_one_stays) {
  const Objects left = merged({found(0, {84, 20, 116, 60}, 0.7f), found(1, {85, 21, 115, 61}, 0.8f),
                               found(2, {84, 20, 115, 60}, 0.6f)});
  ck_assert_uint_eq(left.size(), 1);
  ck_assert_uint_eq(left[0].region, 1);
}

// Tiles one above the other, whose shared rows none of the boxes ends at.
DVNN_TEST(a_box_within_a_lower_tile_is_a_whole_one) {
  const image::Size frame = {100, 200};
  const std::vector<image::Corners> tiles = {{0, 0, 100, 120}, {0, 80, 100, 200}};
  Objects left = {found(0, {20, 84, 60, 116}, 0.7f), found(1, {21, 85, 61, 115}, 0.8f)};
  merge_tiles(tiles, frame, 0.5, &left);
  ck_assert_uint_eq(left.size(), 1);
  ck_assert_uint_eq(left[0].region, 1);
  // The upper one of these ends at its tile's lower edge, the lower one at its tile's upper edge.
  Objects cut = {found(0, {20, 90, 60, 120}, 0.9f), found(1, {20, 90, 60, 150}, 0.6f)};
  merge_tiles(tiles, frame, 0.5, &cut);
  ck_assert_uint_eq(cut.size(), 1);
  ck_assert_uint_eq(cut[0].region, 1);
  cut = {found(0, {20, 60, 60, 110}, 0.6f), found(1, {20, 80, 60, 110}, 0.9f)};
  merge_tiles(tiles, frame, 0.5, &cut);
  ck_assert_uint_eq(cut.size(), 1);
  ck_assert_uint_eq(cut[0].region, 0);
}

DVNN_TEST(things_apart_of_other_classes_or_of_one_tile_stay) {
  const Objects left =
      merged({found(0, {10, 10, 30, 30}, 0.7f), found(1, {150, 10, 170, 30}, 0.6f),  // apart
              found(2, {10, 10, 30, 30}, 0.9f, 1),  // another class
              found(0, {12, 12, 20, 20}, 0.8f)});   // the same tile
  ck_assert_uint_eq(left.size(), 4);
  for (size_t i = 1; i < left.size(); ++i) {
    ck_assert(left[i - 1].confidence >= left[i].confidence);
  }
}

DVNN_TEST(the_threshold_is_of_the_smaller_box) {
  const Objects two = {found(0, {90, 0, 110, 40}, 0.9f), found(1, {100, 0, 110, 80}, 0.8f)};
  // They share 400 of 800.
  ck_assert_uint_eq(merged(two, 0.49).size(), 1);
  ck_assert_uint_eq(merged(two, 0.51).size(), 2);
}

DVNN_TEST(what_is_no_detection_and_what_is_of_no_tile_stays) {
  Object map = found(0, {0, 0, 120, 100}, 0);
  map.kind = objects::Kind::kSegmentation;
  Objects objects = {map, map, found(7, {0, 0, 10, 10}, 0.5f), found(7, {0, 0, 10, 10}, 0.5f)};
  const double nan = std::nan("");
  objects.push_back(found(1, {nan, nan, nan, nan}, 0.4f));
  ck_assert_uint_eq(merged(objects).size(), 5);
}

// Things anywhere, up to the size of the overlap: each is whole on some tile.
DVNN_TEST(every_thing_is_found_once) {
  std::mt19937 random(dvnn_seed(5));
  std::uniform_real_distribution<double> any(0, 1);
  const image::Size frame = {1920, 1080};
  std::vector<image::Corners> tiles;
  for (const auto& tile : tiles_of({{3, 2}}, 0.25, {})) {
    tiles.push_back({tile.x * frame.width, tile.y * frame.height,
                     (tile.x + tile.width) * frame.width, (tile.y + tile.height) * frame.height});
  }
  for (int round = 0; round < 200; ++round) {
    // In cells of a grid, so that no two things overlap.
    std::vector<image::Corners> things;
    for (int i = 0; i < 12; ++i) {
      const double x = 480 * (i % 4) + 330 * any(random), y = 360 * (i / 4) + 210 * any(random);
      things.push_back({x, y, x + 20 + 130 * any(random), y + 20 + 130 * any(random)});
    }
    Objects seen;
    for (uint32_t t = 0; t < tiles.size(); ++t) {
      for (const image::Corners& thing : things) {
        const image::Corners part = {
            std::max(thing.x0, tiles[t].x0), std::max(thing.y0, tiles[t].y0),
            std::min(thing.x1, tiles[t].x1), std::min(thing.y1, tiles[t].y1)};
        if (part.x1 - part.x0 < 4 || part.y1 - part.y0 < 4) continue;
        seen.push_back(found(t, part, static_cast<float>(0.5 + 0.5 * any(random))));
      }
    }
    merge_tiles(tiles, frame, 0.5, &seen);
    ck_assert_uint_eq(seen.size(), things.size());
    for (const image::Corners& thing : things) {
      ck_assert(std::any_of(seen.begin(), seen.end(), [&](const Object& object) {
        return object.box.x0 == thing.x0 && object.box.y0 == thing.y0 &&
               object.box.x1 == thing.x1 && object.box.y1 == thing.y1;
      }));
    }
  }
}

}  // namespace dvnn::test::tiles_tests
