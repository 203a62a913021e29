// SPDX-License-Identifier: Apache-2.0
// Maps, points, text and numbers from outputs by hand.
#include <cmath>
#include <nlohmann/json.hpp>

#include "outputs.h"

using namespace dvnn;
using nlohmann::json;
using test::assert_box;
using test::Outputs;

static std::vector<int> cells_of(const objects::Objects& found) {
  ck_assert_uint_eq(found.size(), 1);
  ck_assert(found[0].kind == objects::Kind::kSegmentation);
  return {found[0].mask.cells.begin(), found[0].mask.cells.end()};
}

START_TEST(maps_have_the_largest_class_of_each_cell_in_every_order) {
  // Nine classes in 3 x 2 cells: a chunk of the device's layouts and one more.
  std::vector<float> planes(54, 0.0f), pixels(54);
  const std::vector<int> wanted = {8, 0, 3, 7, 1, 8};
  for (size_t i = 0; i < 6; ++i) {
    planes[static_cast<size_t>(wanted[i]) * 6 + i] = 1;
    for (size_t c = 0; c < 9; ++c) pixels[i * 9 + c] = planes[c * 6 + i];
  }
  planes[4 * 6] = NAN;
  for (const Layout layout :
       {Layout::kNchw, Layout::kNhwc, Layout::kNwhc, Layout::kWhc8, Layout::kHwc8}) {
    const auto found = Outputs()
                           .add("o", {1, 9, 2, 3}, planes, ElementType::kFloat16, layout)
                           .found("segmentation", {{"channels", "first"}}, 0.99f);
    ck_assert(cells_of(found) == wanted);
    ck_assert_int_eq(found[0].mask.width, 3);
  }
  const auto last =
      Outputs().add("o", {1, 2, 3, 9}, pixels).found("segmentation", {{"channels", "last"}}, 0.5f);
  ck_assert(cells_of(last) == wanted);
}
END_TEST

START_TEST(one_number_says_what_is_foreground) {
  const std::vector<float> values = {-1, 0, 0.4f, 0.5f, 2, NAN};
  auto cells = [&](const json& params) {
    return cells_of(Outputs().add("o", {1, 1, 2, 3}, values).found("segmentation", params, 0.5f));
  };
  ck_assert((cells(json::object()) == std::vector<int>{0, 0, 0, 1, 1, 0}));
  ck_assert((cells({{"score", "sigmoid"}}) == std::vector<int>{0, 1, 1, 1, 1, 0}));
  ck_assert((cells({{"indices", true}}) == std::vector<int>{0, 0, 0, 0, 2, 0}));
}
END_TEST

START_TEST(coordinates_are_points_of_the_whole_input) {
  Outputs outputs;
  outputs.add("p", {1, 6}, {8, 4, 0, 16, NAN, 1}).add("sure", {1, 1}, {std::log(4.0f)});
  const json params = {{"unit", "pixels"}, {"image", {32, 16}},  {"point_size", 3},
                       {"output", "p"},    {"score", "sigmoid"}, {"score_output", "sure"}};
  const auto found = outputs.found("keypoints", params, 0.5f);
  ck_assert_uint_eq(found.size(), 1);
  ck_assert(found[0].kind == objects::Kind::kAttributes);
  ck_assert_float_eq_tol(found[0].confidence, 0.8f, 1e-6f);
  ck_assert_uint_eq(found[0].points.size(), 2);
  ck_assert_double_eq_tol(found[0].points[0].x, 0.25, 1e-6);
  ck_assert_double_eq_tol(found[0].points[0].y, 0.25, 1e-6);
  ck_assert(found[0].points[0].confidence == 1 && found[0].points[1].confidence == 0);
  ck_assert_uint_eq(outputs.found("keypoints", params, 0.9f).size(), 0);
}
END_TEST

START_TEST(heat_maps_are_points_a_quarter_of_a_cell_on) {
  std::vector<float> maps(24, 0.0f);
  maps[5] = 0.9f;   // column 1, row 1 of 4 x 3 cells
  maps[6] = 0.5f;   // and more of it to the right
  maps[12] = 0.7f;  // in the corner, which has no neighbours on both sides
  const auto found =
      Outputs().add("o", {1, 2, 3, 4}, maps).found("keypoints", {{"form", "heatmaps"}}, 0);
  ck_assert_uint_eq(found.size(), 1);
  ck_assert_double_eq_tol(found[0].points[0].x, 1.75 / 4, 1e-6);
  ck_assert_double_eq_tol(found[0].points[0].y, 1.5 / 3, 1e-6);
  ck_assert_double_eq_tol(found[0].points[1].x, 0.5 / 4, 1e-6);
  ck_assert_float_eq_tol(found[0].confidence, 0.8f, 1e-6f);
}
END_TEST

START_TEST(a_line_for_each_axis_gives_a_point) {
  const auto found = Outputs()
                         .add("x", {1, 2, 4}, {0, 0, 0.9f, 0, 0.5f, 0, 0, 0})
                         .add("y", {1, 2, 2}, {0, 0.7f, 0.6f, 0})
                         .found("keypoints", {{"form", "simcc"}}, 0);
  ck_assert_double_eq_tol(found[0].points[0].x, 0.5, 1e-6);
  ck_assert_double_eq_tol(found[0].points[0].y, 0.5, 1e-6);
  ck_assert_float_eq_tol(found[0].points[0].confidence, 0.7f, 1e-6f);
  ck_assert_float_eq_tol(found[0].points[1].confidence, 0.5f, 1e-6f);
}
END_TEST

START_TEST(regions_of_text_are_turned_rectangles) {
  // A bar of 20 x 4 cells, and one along a diagonal, in 64 x 32 cells.
  std::vector<float> map(64 * 32, 0.0f);
  for (int y = 10; y < 15; ++y) {
    for (int x = 5; x < 26; ++x) map[static_cast<size_t>(y * 64 + x)] = 0.8f;
  }
  for (int i = 0; i < 16; ++i) {
    for (int j = 0; j < 6; ++j) map[static_cast<size_t>((2 + i + j) * 64 + 40 + i - j)] = 0.9f;
    for (int j = 0; j < 5; ++j) map[static_cast<size_t>((3 + i + j) * 64 + 40 + i - j)] = 0.9f;
  }
  const auto found = Outputs()
                         .add("o", {1, 1, 32, 64}, map, ElementType::kFloat16, Layout::kWhc8)
                         .found("db", {{"unclip", 0}}, 0.6f);
  ck_assert_uint_eq(found.size(), 2);
  assert_box(found[1], 5 / 64.0, 10 / 32.0, 25 / 64.0, 14 / 32.0);
  ck_assert_uint_eq(found[1].outline.size(), 4);
  ck_assert_double_eq_tol(found[1].outline[2].x, 25 / 64.0, 1e-6);
  ck_assert_float_eq_tol(found[1].confidence, 0.8f, 1e-3f);
  // The diagonal's longer sides run from the upper left to the lower right.
  const auto& corners = found[0].outline;
  const double along_x = (corners[1].x - corners[0].x) * 64,
               along_y = (corners[1].y - corners[0].y) * 32;
  const double across_x = (corners[2].x - corners[1].x) * 64;
  ck_assert_double_eq_tol(std::abs(along_x), std::abs(along_y), 1e-3);
  ck_assert_double_eq_tol(std::max(std::abs(along_x), std::abs(across_x)), 15.5, 1.0);
  // Grown by area * ratio / circumference on every side: 80 * 1.5 / 48.
  const auto grown = Outputs().add("o", {1, 1, 32, 64}, map).found("db", {{"unclip", 1.5}}, 0.6f);
  assert_box(grown[1], (5 - 2.5) / 64, (10 - 2.5) / 32, (25 + 2.5) / 64, (14 + 2.5) / 32);
}
END_TEST

START_TEST(best_paths_are_text_without_repeats_and_blanks) {
  // Steps: b b blank b a, over (blank, a, b).
  const std::vector<float> rows = {0, 0, 9, 0, 0, 9, 9, 0, 0, 0, 0, 9, 0, 9, 0};
  const json params = {{"alphabet", "a\xc3\xa4"}, {"score", "softmax"}};
  const auto found = Outputs().add("o", {1, 5, 3}, rows).found("ctc", params, 0.5f);
  ck_assert_uint_eq(found.size(), 1);
  dvnn_assert_text(found[0].text,
                   "\xc3\xa4\xc3\xa4"
                   "a");
  ck_assert_float_gt(found[0].confidence, 0.99f);
  std::vector<float> columns(15);
  for (size_t i = 0; i < 15; ++i) columns[i % 3 * 5 + i / 3] = rows[i];
  dvnn_assert_text(Outputs().add("o", {1, 3, 5}, columns).found("ctc", params, 0)[0].text,
                   "\xc3\xa4\xc3\xa4"
                   "a");
  const json last = {{"alphabet", {"x", "yz"}}, {"blank", -1}};
  dvnn_assert_text(Outputs().add("o", {1, 5, 3}, rows).found("ctc", last, 0)[0].text, "xyz");
  const std::string refused =
      Outputs().add("o", {1, 5, 4}, std::vector<float>(20)).refusal("ctc", last);
  ck_assert_msg(refused.find("alphabet") != std::string::npos, "%s", refused.c_str());
}
END_TEST

START_TEST(embeddings_are_of_unit_length_unless_told_otherwise) {
  Outputs outputs;
  outputs.add("o", {1, 2, 1, 1}, {3, 4}, ElementType::kFloat16, Layout::kWhc8);
  const auto found = outputs.found("embedding", json::object(), 0.9f);
  ck_assert_uint_eq(found.size(), 1);
  ck_assert_float_eq_tol(found[0].embedding[1], 0.8f, 1e-6f);
  ck_assert(outputs.found("embedding", {{"normalize", false}}, 0)[0].embedding[1] == 4);
  ck_assert(Outputs().add("o", {1, 2}, {NAN, 1}).found("embedding", json::object(), 0).empty());
}
END_TEST

START_TEST(numbers_have_names) {
  Outputs outputs;
  outputs.add("o", {1, 2}, {0.25f, 0.5f});
  const auto found =
      outputs.found("number", {{"names", {"age", "mood"}}, {"scale", 100}, {"offset", 1}}, 0);
  ck_assert_uint_eq(found[0].numbers.size(), 2);
  dvnn_assert_text(found[0].numbers[1].name, "mood");
  ck_assert_double_eq_tol(found[0].numbers[1].value, 51, 1e-6);
  const auto mean = Outputs()
                        .add("o", {1, 3}, {0, 0.5f, 0.5f})
                        .found("number", {{"names", {"age"}}, {"expectation", true}}, 0);
  ck_assert_double_eq_tol(mean[0].numbers[0].value, 1.5, 1e-6);
  const std::string refused = outputs.refusal("number", {{"names", {"age"}}});
  ck_assert_msg(refused.find("2 numbers") != std::string::npos, "%s", refused.c_str());
}
END_TEST

START_TEST(heads_tell_their_best_class_and_labels_may_be_several) {
  Outputs heads;
  heads.add("colour", {1, 3}, {0.1f, 0.2f, 0.7f}).add("kind", {1, 2}, {0.9f, 0.1f});
  const auto found = heads.found("classification", {{"heads", true}}, 0.5f);
  ck_assert_uint_eq(found.size(), 2);
  ck_assert_int_eq(found[0].class_id, 3);
  ck_assert_int_eq(found[1].class_id, 2);
  const auto labels =
      Outputs()
          .add("o", {1, 3}, {2, -2, 1})
          .found("classification", {{"multi_label", true}, {"score", "sigmoid"}}, 0.5f);
  ck_assert_uint_eq(labels.size(), 2);
  ck_assert_int_eq(labels[1].class_id, 2);
  ck_assert_float_eq_tol(labels[1].confidence, 1 / (1 + std::exp(-1.0f)), 1e-6f);
  ck_assert(heads.found("none", json::object(), 0).empty());
}
END_TEST

DVNN_TEST_MAIN(results, maps_have_the_largest_class_of_each_cell_in_every_order,
               one_number_says_what_is_foreground, coordinates_are_points_of_the_whole_input,
               heat_maps_are_points_a_quarter_of_a_cell_on, a_line_for_each_axis_gives_a_point,
               regions_of_text_are_turned_rectangles,
               best_paths_are_text_without_repeats_and_blanks,
               embeddings_are_of_unit_length_unless_told_otherwise, numbers_have_names,
               heads_tell_their_best_class_and_labels_may_be_several)
