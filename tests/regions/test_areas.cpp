// SPDX-License-Identifier: Apache-2.0
#include "regions/areas.h"

#include <cmath>
#include <limits>
#include <string>

#include "check_suite.h"

namespace dvnn::test::areas_tests {

DVNN_SUITE(regions_areas);

using namespace dvnn::regions;

namespace {

const image::Corners kFrame = {0, 0, 640, 480};

std::vector<Area> parsed(const char* text) {
  auto areas = parse_areas(text, "list");
  ck_assert_msg(areas.ok(), "%s", areas.ok() ? "" : areas.error().message.c_str());
  return areas.value();
}

void expect_part(const Area& area, const image::Corners& visible, double x, double y, double w,
                 double h) {
  const auto part = part_of(area, visible);
  ck_assert(part.has_value());
  ck_assert_double_eq_tol(part->x, x, 1e-12);
  ck_assert_double_eq_tol(part->y, y, 1e-12);
  ck_assert_double_eq_tol(part->width, w, 1e-12);
  ck_assert_double_eq_tol(part->height, h, 1e-12);
}

}  // namespace

DVNN_TEST(areas_are_fractions_or_pixels) {
  const auto areas = parsed(
      R"([[0.25, 0.5, 0.5, 0.5], {"box": [64, 48, 320, 240], "unit": "pixels"},
          {"name": "door", "box": [0, 0, 1, 1], "unit": "pixels"},
          {"name": "all", "box": [0, 0, 1, 1]}])");
  ck_assert_uint_eq(areas.size(), 4);
  dvnn_assert_text(areas[0].name, "0");
  dvnn_assert_text(areas[2].name, "door");
  expect_part(areas[0], kFrame, 0.25, 0.5, 0.5, 0.5);
  expect_part(areas[1], kFrame, 0.1, 0.1, 0.5, 0.5);
  expect_part(areas[2], kFrame, 0, 0, 1 / 640.0, 1 / 480.0);
  expect_part(areas[3], kFrame, 0, 0, 1, 1);
}

DVNN_TEST(a_polygon_is_looked_at_in_its_box) {
  const auto areas = parsed(R"([{"points": [[0.5, 0.25], [0.75, 0.5], [0.25, 0.75]]}])");
  expect_part(areas[0], kFrame, 0.25, 0.25, 0.5, 0.5);
}

DVNN_TEST(what_lies_beside_the_frame_is_cut_off) {
  expect_part(parsed(R"([{"box": [-64, 240, 128, 480], "unit": "pixels"}])")[0], kFrame, 0, 0.5,
              0.1, 0.5);
  ck_assert(!part_of(parsed(R"([{"box": [700, 0, 10, 10], "unit": "pixels"}])")[0], kFrame));
  ck_assert(!part_of(parsed("[[0.5, -2, 0.1, 1]]")[0], kFrame));
  ck_assert(!part_of(image::Corners{10, 10, 10.2, 20}, kFrame));  // not a pixel wide
  const double nan = std::nan("");
  ck_assert(!part_of(image::Corners{nan, nan, nan, nan}, kFrame));
  const double inf = std::numeric_limits<double>::infinity();
  ck_assert(part_of(image::Corners{-inf, -inf, inf, inf}, kFrame) == image::RelativeRect());
}

DVNN_TEST(pixels_count_from_the_frames_corner_and_shares_from_the_visible_parts) {
  const image::Corners visible = {100, 100, 300, 200};
  expect_part(parsed(R"([{"box": [150, 100, 100, 50], "unit": "pixels"}])")[0], visible, 0.25, 0,
              0.5, 0.5);
  expect_part(parsed("[[0.5, 0, 0.5, 1]]")[0], visible, 0.5, 0, 0.5, 1);
}

DVNN_TEST(mistakes_are_named) {
  const struct {
    const char *text, *says;
  } cases[] = {
      {"", "list"},
      {"{}", "must be an array of 1 to 256 areas"},
      {"[]", "must be an array of 1 to 256 areas"},
      {"[[0, 0, 1]]", "list: [0] must be four numbers, [x, y, width, height], not a list"},
      {"[[0, 0, 1, \"1\"]]", "must be four numbers"},
      {"[[0, 0, 0, 1]]", "list: [0] is empty"},
      {"[[0, 0, 1, -1]]", "list: [0] is empty"},
      {"[[64, 48, 320, 240]]", "list: [0]: the numbers are fractions of the frame"},
      {R"([{"name": "a"}])", "needs one of 'box' and 'points'"},
      {R"([{"box": [0, 0, 1, 1], "points": [[0, 0], [1, 0], [1, 1]]}])", "needs one of"},
      {R"([{"points": [[0, 0], [1, 1]]}])", "an array of 3 to 256 pairs"},
      {R"([{"points": [[0, 0], [1, 1], [1]]}])", "which is no pair [x, y]"},
      {R"([{"box": [0, 0, 1, 1], "unit": "miles"}])", "unit is 'miles'"},
      {R"([{"box": [0, 0, 1, 1], "colour": 1}])", "there is no field 'colour'"},
      {R"([{"name": "", "box": [0, 0, 1, 1]}])", "empty name"},
      {R"([{"box": [0, 0, 1, 1], "unit": "mi\nles"}])", "unit is 'mi?les'"},
      {R"([{"name": "a\n", "box": [0, 0, 1, 1]}, {"name": "a\n", "box": [0, 0, 1, 1]}])",
       "[1] is called 'a?' like"},
      {"[{\"name\": \"a\",\n\"box\": [0, 0, 1, 1],\n\"box\": [0, 0, 2, 2]}]",
       "list, line 3, column 5: 'box' stands twice"},
      {R"([[0, 0, 1, 1], {"name": "0", "box": [0, 0, 1, 1]}])", "like another one"},
  };
  for (const auto& c : cases) {
    const auto areas = parse_areas(c.text, "list");
    ck_assert_msg(!areas.ok(), "%s", c.text);
    ck_assert_msg(areas.error().message.find(c.says) != std::string::npos, "%s: %s", c.text,
                  areas.error().message.c_str());
  }
}

}  // namespace dvnn::test::areas_tests
