// SPDX-License-Identifier: Apache-2.0
// Detectors on outputs by hand: each family's formula on one cell, and what all share.
#include <cmath>
#include <nlohmann/json.hpp>

#include "outputs.h"

using namespace dvnn;
using nlohmann::json;
using test::assert_box;
using test::Outputs;

// A picture of 32x16 at stride 8: 4 x 2 cells. Cell 5 is in column 1, row 1.
constexpr size_t kCells = 8, kCell = 5;

// One row per cell, all zero but that of kCell.
static std::vector<float> one_row(const std::vector<float>& row, float others = 0) {
  std::vector<float> rows(kCells * row.size(), others);
  std::copy(row.begin(), row.end(), rows.begin() + static_cast<std::ptrdiff_t>(kCell * row.size()));
  return rows;
}

static std::vector<float> transposed(const std::vector<float>& rows, size_t columns) {
  std::vector<float> turned(rows.size());
  const size_t count = rows.size() / columns;
  for (size_t i = 0; i < count; ++i) {
    for (size_t c = 0; c < columns; ++c) turned[c * count + i] = rows[i * columns + c];
  }
  return turned;
}

static const json kGrid = {{"image", {32, 16}}, {"strides", {8}}};

static json with(json params, const json& more) {
  params.update(more);
  return params;
}

START_TEST(grid_boxes_are_the_same_from_every_order_and_type) {
  // Eleven columns are a chunk of the device's layouts and a part of one.
  const std::vector<float> row = {0.5f, 0.25f, 0, std::log(2.0f), 0.75f, 0, 0, 0.1f, 0.875f, 0, 0};
  const std::vector<float> rows = one_row(row), columns = transposed(rows, row.size());
  const int c = static_cast<int>(row.size());
  auto check = [&](const Outputs& outputs) {
    const auto found = outputs.found("grid", kGrid, 0.5f);
    ck_assert_uint_eq(found.size(), 1);
    ck_assert_int_eq(found[0].class_id, 3);
    ck_assert_float_eq_tol(found[0].confidence, 0.75f * 0.875f, 1e-3f);
    // Centre (1.5, 1.25) cells, 1 x 2 cells.
    assert_box(found[0], 8 / 32.0, 2 / 16.0, 16 / 32.0, 18 / 16.0);
  };
  for (const ElementType type : {ElementType::kFloat32, ElementType::kFloat16}) {
    check(Outputs().add("o", {1, kCells, c}, rows, type));
    check(Outputs().add("o", {kCells, c}, rows, type));
    check(Outputs().add("o", {1, c, kCells}, columns, type));
    for (const Layout layout :
         {Layout::kNchw, Layout::kNhwc, Layout::kNwhc, Layout::kWhc8, Layout::kHwc8}) {
      check(Outputs().add("o", {1, c, 2, 4}, columns, type, layout));
    }
  }
}
END_TEST

START_TEST(distances_reach_from_the_cells_centre) {
  Outputs outputs;
  outputs.add("score", {1, kCells, 1}, one_row({0.9f}))
      .add("box", {1, kCells, 4}, one_row({1, 0.5f, 2, 0.25f}))
      .add("points", {1, kCells, 4}, one_row({0.5f, 0, -1, 1}));
  const auto found = outputs.found("grid",
                                   with(kGrid, {{"parts", {"scores", "boxes", "points"}},
                                                {"box", "distances"},
                                                {"offset", 0},
                                                {"point_count", 2},
                                                {"skeleton", "two"}}),
                                   0.5f);
  ck_assert_uint_eq(found.size(), 1);
  assert_box(found[0], 0, 4 / 16.0, 24 / 32.0, 10 / 16.0);
  ck_assert_uint_eq(found[0].points.size(), 2);
  ck_assert_double_eq_tol(found[0].points[0].x, 12 / 32.0, 1e-6);
  ck_assert_double_eq_tol(found[0].points[1].y, 16 / 16.0, 1e-6);
  dvnn_assert_text(found[0].skeleton, "two");
}
END_TEST

START_TEST(sides_are_means_of_distributions) {
  // Two of four bins are as likely as each other, the others are not likely at all.
  const std::vector<float> row = {9, 9, -99, -99, -99, 9, 9, -99, 9, -99, -99, -99, -99, -99, 9, 9};
  Outputs outputs;
  outputs.add("b", {1, kCells, 16}, one_row(row)).add("s", {1, kCells, 2}, one_row({0.25f, 0.75f}));
  const auto found = outputs.found(
      "grid", with(kGrid, {{"parts", {"boxes", "scores"}}, {"box", "distribution"}, {"bins", 4}}),
      0.5f);
  ck_assert_uint_eq(found.size(), 1);
  ck_assert_int_eq(found[0].class_id, 1);
  // From the centre (12, 12) by 0.5, 1.5, 0 and 2.5 cells.
  assert_box(found[0], 8 / 32.0, 0, 12 / 32.0, 32 / 16.0);
}
END_TEST

START_TEST(anchors_of_a_cell_have_their_own_rows) {
  // Two anchors of (objectness behind the box, two classes): 2 x 7 columns.
  std::vector<float> row(14, -9.0f);
  const std::vector<float> second = {0, 0, 0, std::log(3.0f), 9, -9, 9};
  std::copy(second.begin(), second.end(), row.begin() + 7);
  const json params = with(
      kGrid, {{"anchors", {{4, 4, 8, 2}}}, {"objectness_score", "sigmoid"}, {"score", "sigmoid"}});
  const auto rows = one_row(row, -9.0f);
  auto check = [&](const Outputs& outputs) {
    const auto found = outputs.found("anchors", params, 0.5f);
    ck_assert_uint_eq(found.size(), 1);
    ck_assert_int_eq(found[0].class_id, 1);
    const float sure = 1 / (1 + std::exp(-9.0f));
    ck_assert_float_eq_tol(found[0].confidence, sure * sure, 1e-3f);
    // Centre (1.5, 1.5) cells, 8 x 6 pixels.
    assert_box(found[0], 8 / 32.0, 9 / 16.0, 16 / 32.0, 15 / 16.0);
  };
  check(Outputs().add("o", {1, kCells, 14}, rows));
  check(Outputs().add("o", {1, 14, 2, 4}, transposed(rows, 14), ElementType::kFloat16,
                      Layout::kWhc8));
  // 1 x anchors x H x W x columns, as YOLOv5's raw outputs are.
  std::vector<float> split;
  for (size_t a = 0; a < 2; ++a) {
    for (size_t i = 0; i < kCells; ++i) {
      split.insert(split.end(), rows.begin() + static_cast<std::ptrdiff_t>(i * 14 + a * 7),
                   rows.begin() + static_cast<std::ptrdiff_t>(i * 14 + a * 7 + 7));
    }
  }
  check(Outputs().add("o", {1, 2, 2, 4, 7}, split));
}
END_TEST

START_TEST(anchors_share_classes_and_interleave_them_if_told_so) {
  // Boxes of both anchors, objectness of both, then two classes for both (Yolo-FastestV2).
  const std::vector<float> row = {0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0.5f,
                                  1,    0.5f, 0.1f, 0.9f, 0.2f, 0.8f};
  const json params = with(kGrid, {{"anchors", {{4, 4, 8, 2}}},
                                   {"shared", {"scores"}},
                                   {"activated", true},
                                   {"box", "yolo-scaled"}});
  auto found = Outputs().add("o", {1, kCells, 12}, one_row(row)).found("anchors", params, 0.5f);
  ck_assert_uint_eq(found.size(), 1);
  ck_assert_int_eq(found[0].class_id, 1);
  assert_box(found[0], (12 - 16) / 32.0, 11 / 16.0, (12 + 16) / 32.0, 13 / 16.0);
  // Background of both, then faces of both (RetinaFace's Caffe model).
  Outputs outputs;
  outputs.add("b", {1, kCells, 8}, one_row({9, 9, 9, 9, 0.25f, 0, 0, 0}))
      .add("s", {1, kCells, 4}, one_row({0.9f, 0.3f, 0.1f, 0.7f}));
  found = outputs.found("anchors",
                        with(kGrid, {{"anchors", {{4, 4, 8, 2}}},
                                     {"parts", {"boxes", "scores"}},
                                     {"inner", {"scores"}},
                                     {"background_label_id", 0},
                                     {"box", "deltas"}}),
                        0.5f);
  ck_assert_uint_eq(found.size(), 1);
  ck_assert_float_eq_tol(found[0].confidence, 0.7f, 1e-6f);
  assert_box(found[0], (8 + 2 - 4) / 32.0, 7 / 16.0, (8 + 2 + 4) / 32.0, 9 / 16.0);
}
END_TEST

START_TEST(numbers_at_the_threshold_are_found) {
  // The logit of 0.25, whose sigmoid may be rounded to a little less or more.
  const float logit = std::log(0.25f / 0.75f);
  for (const float by : {-0.01f, 0.01f}) {
    const auto found =
        Outputs()
            .add("o", {1, kCells, 6}, one_row({0, 0, 0, 0, logit + by, -99}, -99))
            .found("boxes",
                   {{"image", {32, 16}}, {"parts", {"boxes+scores"}}, {"score", "sigmoid"}}, 0.25f);
    ck_assert_uint_eq(found.size(), by > 0 ? 1 : 0);
  }
}
END_TEST

START_TEST(softmax_and_its_background_agree_with_plain_arithmetic) {
  // The boxes lie apart, so that only scores decide.
  std::vector<float> boxes, logits;
  size_t wanted = 0;
  for (int i = 0; i < 200; ++i) {
    const float x = static_cast<float>(i);
    for (float v : {x, 0.0f, x + 0.5f, 1.0f}) boxes.push_back(v);
    const float row[] = {std::sin(x) * 3, std::cos(x * 1.7f) * 3, std::sin(x * 0.3f) * 3};
    logits.insert(logits.end(), row, row + 3);
    float sum = 0;
    for (float v : row) sum += std::exp(v);
    wanted += std::max(std::exp(row[0]), std::exp(row[1])) / sum >= 0.3f;
  }
  const auto found = Outputs()
                         .add("b", {1, 200, 4}, boxes)
                         .add("s", {1, 200, 3}, logits)
                         .found("boxes",
                                {{"parts", {"boxes", "scores"}},
                                 {"box", "corners"},
                                 {"unit", "fractions"},
                                 {"score", "softmax"},
                                 {"num_classes", 3},
                                 {"background_label_id", 2}},
                                0.3f);
  ck_assert_uint_gt(wanted, 20);
  ck_assert_uint_eq(found.size(), wanted);
  for (size_t i = 1; i < found.size(); ++i) {
    ck_assert_float_ge(found[i - 1].confidence, found[i].confidence);
  }
}
END_TEST

START_TEST(boxes_are_read_in_the_form_that_is_named) {
  auto found = [](const char* form) {
    return Outputs()
        .add("o", {1, 6, 3},
             transposed({2, 4, 8, 12, 0.9f, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 6))
        .found(
            "boxes",
            {{"image", {32, 16}}, {"parts", {"boxes+scores"}}, {"num_classes", 2}, {"box", form}},
            0.5f);
  };
  assert_box(found("center")[0], -2 / 32.0, -2 / 16.0, 6 / 32.0, 10 / 16.0);
  assert_box(found("corners")[0], 2 / 32.0, 4 / 16.0, 8 / 32.0, 12 / 16.0);
  assert_box(found("corners-yx")[0], 4 / 32.0, 2 / 16.0, 12 / 32.0, 8 / 16.0);
  assert_box(found("origin")[0], 2 / 32.0, 4 / 16.0, 10 / 32.0, 16 / 16.0);
}
END_TEST

START_TEST(rows_that_the_network_has_chosen_are_not_suppressed) {
  // Two equal boxes of class 7, a row of a class that is none, and one that is unsure.
  const std::vector<float> rows = {0, 0, 8, 8, 0.9f, 7,   0, 0, 8, 8, 0.8f, 7,
                                   0, 0, 8, 8, 0.9f, NAN, 0, 0, 8, 8, 0.2f, 7};
  const auto found = Outputs()
                         .add("o", {1, 4, 6}, rows)
                         .found("boxes",
                                {{"image", {32, 16}},
                                 {"parts", {"boxes+scores+class"}},
                                 {"num_classes", 1},
                                 {"box", "corners"},
                                 {"nms_threshold", 1}},
                                0.5f);
  ck_assert_uint_eq(found.size(), 2);
  ck_assert_int_eq(found[1].class_id, 7);
  ck_assert_float_eq_tol(found[1].confidence, 0.8f, 1e-6f);
}
END_TEST

START_TEST(classes_suppress_each_other_only_if_told_so) {
  const std::vector<float> rows = {8, 8, 8, 8, 0.9f, 0,    8, 8, 8, 8, 0,    0.8f,
                                   8, 8, 8, 7, 0.7f, 0.6f, 0, 0, 1, 1, 0.1f, 0.1f};
  json params = {{"image", {32, 16}}, {"parts", {"boxes+scores"}}, {"num_classes", 2}};
  auto count = [&] {
    return Outputs().add("o", {1, 4, 6}, rows).found("boxes", params, 0.5f).size();
  };
  ck_assert_uint_eq(count(), 2);
  params["class_agnostic"] = true;
  ck_assert_uint_eq(count(), 1);
  params["class_agnostic"] = false;
  params["nms_threshold"] = 1;
  ck_assert_uint_eq(count(), 3);
  params["multi_label"] = true;
  ck_assert_uint_eq(count(), 4);
  params["keep_top_k"] = 2;
  ck_assert_uint_eq(count(), 2);
}
END_TEST

START_TEST(poses_masks_and_angles_come_with_their_boxes) {
  // Box, score, two points of three numbers, two coefficients; the prototypes are 4 x 2 cells.
  const std::vector<float> row = {16, 8, 16, 16, 0.9f, 8, 4, 0.75f, NAN, 4, 0.5f, 1, -1};
  std::vector<float> rows(13 * 20, 0.0f);
  std::copy(row.begin(), row.end(), rows.begin() + 26);
  const std::vector<float> maps = {9, 9, 0, 0, 9, 9, 0, 0, 0, 0, 9, 9, 0, 0, 9, 9};
  const auto found = Outputs()
                         .add("o", {1, 13, 20}, transposed(rows, 13))
                         .add("maps", {1, 2, 2, 4}, maps, ElementType::kFloat16, Layout::kWhc8)
                         .found("boxes",
                                {{"image", {32, 16}},
                                 {"parts", {"boxes+scores+points+masks"}},
                                 {"num_classes", 1},
                                 {"point_count", 2},
                                 {"point_size", 3},
                                 {"mask_count", 2}},
                                0.5f);
  ck_assert_uint_eq(found.size(), 1);
  ck_assert_double_eq_tol(found[0].points[0].x, 0.25, 1e-6);
  ck_assert_float_eq_tol(found[0].points[0].confidence, 0.75f, 1e-6f);
  ck_assert(found[0].points[1].confidence == 0);  // it is nowhere
  const objects::Mask& mask = found[0].mask;
  ck_assert_int_eq(mask.width, 2);
  ck_assert_int_eq(mask.height, 2);
  ck_assert_double_eq_tol(mask.place.x0, 0.25, 1e-6);
  ck_assert_int_eq(mask.cells[0], 255);  // 255 sigmoid(9) rounded
  ck_assert_int_eq(mask.cells[1], 0);
  // A quarter turn of 16 x 4 pixels.
  const std::vector<float> turned = {16, 8, 16, 4, 0.9f, 1.5707963f};
  std::vector<float> boxes(6 * 20, 0.0f);
  std::copy(turned.begin(), turned.end(), boxes.begin());
  const auto oriented =
      Outputs()
          .add("o", {1, 6, 20}, transposed(boxes, 6))
          .found("boxes",
                 {{"image", {32, 16}}, {"parts", {"boxes+scores+angle"}}, {"num_classes", 1}},
                 0.5f);
  ck_assert_uint_eq(oriented.size(), 1);
  assert_box(oriented[0], 14 / 32.0, 0, 18 / 32.0, 1);
  ck_assert_uint_eq(oriented[0].outline.size(), 4);
  ck_assert_double_eq_tol(oriented[0].outline[0].x, 18 / 32.0, 1e-5);
  ck_assert_double_eq_tol(oriented[0].outline[0].y, 0, 1e-5);
}
END_TEST

START_TEST(mtcnn_looks_again_at_crops) {
  // Its third stage: one window of 48 pixels; corners move by parts of it, points are parts of it.
  const json params = {{"image", {48, 48}},   {"parts", {"boxes", "points", "scores"}},
                       {"num_classes", 2},    {"background_label_id", 0},
                       {"strides", {48}},     {"box", "corners"},
                       {"center", 24},        {"anchors", {{48, 48}}},
                       {"point_count", 5},    {"points_by_axis", true},
                       {"skeleton", "face-5"}};
  Outputs outputs;
  outputs.add("conv6-2", {1, 4}, {0.25f, 0.125f, -0.25f, 0.0f})
      .add("conv6-3", {1, 10}, {0.1f, 0.2f, 0.3f, 0.4f, 0.5f, 0.6f, 0.7f, 0.8f, 0.9f, 1.0f})
      .add("prob1", {1, 2}, {0.2f, 0.8f});
  const auto found = outputs.found("anchors", params, 0.5f);
  ck_assert_uint_eq(found.size(), 1);
  ck_assert_int_eq(found[0].class_id, 1);
  ck_assert_float_eq_tol(found[0].confidence, 0.8f, 1e-6f);
  assert_box(found[0], 0.25, 0.125, 0.75, 1);
  ck_assert_uint_eq(found[0].points.size(), 5);
  for (size_t k = 0; k < 5; ++k) {
    const auto at = static_cast<double>(k);
    ck_assert_double_eq_tol(found[0].points[k].x, 0.1 + 0.1 * at, 1e-6);
    ck_assert_double_eq_tol(found[0].points[k].y, 0.6 + 0.1 * at, 1e-6);
  }
}
END_TEST

START_TEST(mtcnn_numbers_are_the_upright_pictures) {
  // The network sees columns for rows: what moves the picture's x moves the input's y.
  const json params = {{"image", {24, 24}},    {"parts", {"boxes", "scores"}},
                       {"num_classes", 2},     {"background_label_id", 0},
                       {"strides", {24}},      {"box", "corners"},
                       {"transposed", true},   {"center", 12},
                       {"anchors", {{24, 24}}}};
  Outputs outputs;
  outputs.add("conv5-2", {1, 4}, {0.25f, 0.125f, -0.25f, 0.0f}).add("prob1", {1, 2}, {0.2f, 0.8f});
  const auto found = outputs.found("anchors", params, 0.5f);
  ck_assert_uint_eq(found.size(), 1);
  assert_box(found[0], 0.125, 0.25, 1, 0.75);
}
END_TEST

START_TEST(oriented_boxes_overlap_as_they_lie) {
  // Across one another; then the same one, told as its other sides by a quarter of a turn.
  const float quarter = 1.5707963f;
  auto count = [&](const std::vector<float>& other) {
    const std::vector<float> flat = {16, 8, 16, 4, 0.9f, 0};
    std::vector<float> boxes(6 * 20, 0.0f);
    std::copy(flat.begin(), flat.end(), boxes.begin());
    std::copy(other.begin(), other.end(), boxes.begin() + 6);
    return Outputs()
        .add("o", {1, 6, 20}, transposed(boxes, 6))
        .found("boxes",
               {{"image", {32, 16}}, {"parts", {"boxes+scores+angle"}}, {"num_classes", 1}}, 0.5f)
        .size();
  };
  ck_assert_uint_eq(count({16, 8, 16, 4, 0.8f, quarter}), 2);
  ck_assert_uint_eq(count({16, 8, 4, 16, 0.8f, quarter}), 1);
  ck_assert_uint_eq(count({16, 8, 16, 4, 0.8f, 0.1f}), 1);
  ck_assert_uint_eq(count({16, 8, 16, 4, 0.8f, NAN}), 1);
}
END_TEST

START_TEST(peaks_of_heat_maps_are_centres) {
  std::vector<float> heat(8, 0.0f), sizes(16, 1.0f), offsets(16, 0.5f);
  heat[4] = 0.6f;  // beside the peak
  heat[5] = 0.9f;
  sizes[5] = 2;
  const json params = {{"image", {32, 16}}, {"stride", 8}, {"num_classes", 1}};
  const auto found = Outputs()
                         .add("hm", {1, 1, 2, 4}, heat)
                         .add("wh", {1, 2, 2, 4}, sizes)
                         .add("off", {1, 2, 2, 4}, offsets)
                         .found("heatmap-centres", params, 0.5f);
  ck_assert_uint_eq(found.size(), 1);
  assert_box(found[0], 4 / 32.0, 8 / 16.0, 20 / 32.0, 16 / 16.0);
}
END_TEST

START_TEST(priors_bring_points_and_linear_sizes) {
  const json params = {{"parts", {"boxes+points", "scores"}},
                       {"num_classes", 1},
                       {"background_label_id", -1},
                       {"point_count", 1},
                       {"score", "sigmoid"},
                       {"code_type", "linear"},
                       {"anchors",
                        {{"rule", "sizes-ratios"},
                         {"features", {{2, 2}, {1, 1}}},
                         {"sizes", {{1}, {1, 1}}},
                         {"ratios", {{1}, {1}}},
                         {"variances", {0.125}}}}};
  // Each grid has outputs of its own: four anchors, and two in one cell.
  std::vector<float> near(24, 0.0f), far(12, 0.0f);
  const std::vector<float> row = {1, -1, 2, 4, 1, 0};
  std::copy(row.begin(), row.end(), far.begin() + 6);
  const auto found = Outputs()
                         .add("s1", {1, 4, 1}, {-9, -9, -9, -9})
                         .add("s2", {1, 2, 1}, {-9, 9})
                         .add("b1", {1, 4, 6}, near)
                         .add("b2", {1, 2, 6}, far)
                         .found("ssd", params, 0.5f);
  ck_assert_uint_eq(found.size(), 1);
  assert_box(found[0], 0.625 - 0.125, 0.375 - 0.25, 0.625 + 0.125, 0.375 + 0.25);
  ck_assert_double_eq_tol(found[0].points[0].x, 0.625, 1e-6);
}
END_TEST

START_TEST(outputs_that_do_not_fit_are_told_with_what_was_looked_for) {
  auto has = [](const std::string& text, const char* word) {
    ck_assert_msg(text.find(word) != std::string::npos, "%s", text.c_str());
  };
  Outputs outputs;
  outputs.add("cls", {1, kCells, 3}, std::vector<float>(24))
      .add("reg", {1, 7, 4}, std::vector<float>(28));
  const json params = with(kGrid, {{"parts", {"boxes", "scores"}}, {"box", "distances"}});
  has(outputs.refusal("grid", params), "part 'boxes'");
  has(outputs.refusal("grid", params), "4 numbers in each of 8 cells");
  has(outputs.refusal("grid", params), "reg 1x7x4");
  has(outputs.refusal("grid", with(params, {{"parts", {"boxes", "colour"}}})), "colour");
  has(outputs.refusal("grid", with(params, {{"box", "round"}})), "center-exp");
  has(outputs.refusal("grid", {{"strides", {8}}}), "image");
  has(outputs.refusal("grid", {{"image", {32, 16}}}), "strides");
  has(outputs.refusal("anchors", with(kGrid, {{"anchors", {{4}}}})), "anchors");
  has(outputs.refusal("boxes", {{"image", {8, 8}}, {"parts", {"boxes+points"}}}), "point_count");
  has(outputs.refusal("grid", with(params, {{"outputs", {"nowhere", "cls"}}})), "nowhere");
  has(outputs.refusal("grid", with(params, {{"parts", {"scores"}}})), "'boxes'");
}
END_TEST

DVNN_TEST_MAIN(
    detectors, grid_boxes_are_the_same_from_every_order_and_type,
    distances_reach_from_the_cells_centre, sides_are_means_of_distributions,
    anchors_of_a_cell_have_their_own_rows, anchors_share_classes_and_interleave_them_if_told_so,
    numbers_at_the_threshold_are_found, softmax_and_its_background_agree_with_plain_arithmetic,
    boxes_are_read_in_the_form_that_is_named, rows_that_the_network_has_chosen_are_not_suppressed,
    classes_suppress_each_other_only_if_told_so, poses_masks_and_angles_come_with_their_boxes,
    oriented_boxes_overlap_as_they_lie, mtcnn_looks_again_at_crops,
    mtcnn_numbers_are_the_upright_pictures, peaks_of_heat_maps_are_centres,
    priors_bring_points_and_linear_sizes, outputs_that_do_not_fit_are_told_with_what_was_looked_for)
