// SPDX-License-Identifier: Apache-2.0
// Tables of boxes, with points, masks and angles, and how they suppress each other.
#include <cmath>
#include <vector>

#include "base/json.h"
#include "outputs.h"

namespace dvnn::test::boxes_tests {

DVNN_SUITE(decoders);

using json = dvnn::Json;

DVNN_TEST(boxes_are_read_in_the_form_that_is_named) {
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

DVNN_TEST(rows_that_the_network_has_chosen_are_not_suppressed) {
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

DVNN_TEST(classes_suppress_each_other_only_if_told_so) {
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

DVNN_TEST(poses_masks_and_angles_come_with_their_boxes) {
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

DVNN_TEST(oriented_boxes_overlap_as_they_lie) {
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

}  // namespace dvnn::test::boxes_tests
