// SPDX-License-Identifier: Apache-2.0
#include "decode/box.h"

#include <cmath>

#include "check_main.h"

using namespace dvnn;
using namespace dvnn::decode;

START_TEST(overlap_is_intersection_over_union) {
  ck_assert_float_eq_tol(intersection_over_union({0, 0, 2, 2}, {1, 1, 3, 3}), 1.0f / 7, 1e-6f);
  ck_assert(intersection_over_union({0, 0, 1, 1}, {1, 0, 2, 1}) == 0);
  ck_assert(intersection_over_union({0, 0, 1, 1}, {0, 0, 1, 1}) == 1);
  ck_assert(intersection_over_union({1, 1, 0, 0}, {1, 1, 0, 0}) == 0);  // inside out
}
END_TEST

START_TEST(deltas_of_zero_give_the_prior) {
  const Prior prior = {{0.25f, 0.5f, 0.75f, 1.0f}, {{0.1f, 0.1f, 0.2f, 0.2f}}};
  const float zero[4] = {};
  for (CodeType type : {CodeType::kCorner, CodeType::kCenterSize, CodeType::kCornerSize}) {
    const Box box = decode_box(type, prior, zero);
    ck_assert_float_eq_tol(box.x0, 0.25f, 1e-6f);
    ck_assert_float_eq_tol(box.y1, 1.0f, 1e-6f);
  }
}
END_TEST

START_TEST(centre_and_size_follow_the_paper) {
  // cx = 0.1 * 2 * 0.4 + 0.5, w = 0.4 exp(0.2 * 1)
  const Prior prior = {{0.3f, 0.4f, 0.7f, 0.6f}, {{0.1f, 0.1f, 0.2f, 0.2f}}};
  const float delta[4] = {2, 0, 1, 0};
  const Box box = decode_box(CodeType::kCenterSize, prior, delta);
  ck_assert_float_eq_tol((box.x0 + box.x1) / 2, 0.58f, 1e-6f);
  ck_assert_float_eq_tol(box.x1 - box.x0, 0.4f * std::exp(0.2f), 1e-6f);
  ck_assert_float_eq_tol(box.y1 - box.y0, 0.2f, 1e-6f);
}
END_TEST

START_TEST(the_best_of_overlapping_boxes_stays) {
  const std::vector<Box> boxes = {{0, 0, 1, 1}, {0, 0, 1, 0.9f}, {2, 2, 3, 3}};
  std::vector<Candidate> candidates = {{0.5f, 0}, {0.9f, 1}, {0.3f, 2}};
  NmsOptions options;
  options.iou_threshold = 0.5f;
  suppress_non_maxima(boxes, options, &candidates);
  ck_assert_uint_eq(candidates.size(), 2);
  ck_assert_int_eq(candidates[0].index, 1);
  ck_assert_int_eq(candidates[1].index, 2);
}
END_TEST

START_TEST(only_the_top_k_are_looked_at) {
  const std::vector<Box> boxes = {{0, 0, 1, 1}, {2, 0, 3, 1}, {4, 0, 5, 1}};
  std::vector<Candidate> candidates = {{0.1f, 0}, {0.2f, 1}, {0.3f, 2}};
  NmsOptions options;
  options.top_k = 2;
  suppress_non_maxima(boxes, options, &candidates);
  ck_assert_uint_eq(candidates.size(), 2);
  ck_assert_int_eq(candidates[0].index, 2);
}
END_TEST

START_TEST(no_more_are_kept_than_asked_for) {
  // A hundred thousand boxes that overlap with none: all pairs of them would take a minute.
  constexpr int kMany = 100000;
  std::vector<Box> boxes;
  std::vector<Candidate> candidates;
  for (int i = 0; i < kMany; ++i) {
    const float x = static_cast<float>(i);
    boxes.push_back({x, 0, x + 0.5f, 1});
    candidates.push_back({1 + x, i});
  }
  NmsOptions options;
  options.max_kept = 3;
  std::vector<Candidate> few = candidates;
  suppress_non_maxima(boxes, options, &few);
  ck_assert_uint_eq(few.size(), 3);
  ck_assert_int_eq(few[0].index, kMany - 1);
  ck_assert_int_eq(few[2].index, kMany - 3);
  options.max_kept = 0;
  suppress_non_maxima(boxes, options, &candidates);
  ck_assert(candidates.empty());
}
END_TEST

DVNN_TEST_MAIN(box, no_more_are_kept_than_asked_for, overlap_is_intersection_over_union,
               deltas_of_zero_give_the_prior, centre_and_size_follow_the_paper,
               the_best_of_overlapping_boxes_stays, only_the_top_k_are_looked_at)
