// SPDX-License-Identifier: Apache-2.0
#include "kernels/suppression.h"

#include "check_main.h"
#include "kernels/inputs.h"

using namespace dvnn;
using namespace dvnn::kernels;

START_TEST(overlap_is_intersection_over_union) {
  ck_assert_float_eq_tol(intersection_over_union({0, 0, 2, 2}, {1, 1, 3, 3}), 1.0f / 7, 1e-6f);
  ck_assert(intersection_over_union({0, 0, 1, 1}, {1, 0, 2, 1}) == 0);
  ck_assert(intersection_over_union({0, 0, 1, 1}, {0, 0, 1, 1}) == 1);
  ck_assert(intersection_over_union({1, 1, 0, 0}, {1, 1, 0, 0}) == 0);  // inside out
}
END_TEST

START_TEST(the_best_of_overlapping_boxes_stays) {
  const std::vector<Box> boxes = {{0, 0, 1, 1}, {0, 0, 1, 0.9f}, {2, 2, 3, 3}};
  std::vector<Candidate> candidates = {{0.5f, 0}, {0.9f, 1}, {0.3f, 2}};
  NmsOptions options;
  options.iou_threshold = 0.5f;
  KeptBoxes kept;
  suppress_non_maxima(boxes, options, &candidates, &kept);
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
  KeptBoxes kept;
  suppress_non_maxima(boxes, options, &candidates, &kept);
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
  KeptBoxes kept;
  suppress_non_maxima(boxes, options, &few, &kept);
  ck_assert_uint_eq(few.size(), 3);
  ck_assert_int_eq(few[0].index, kMany - 1);
  ck_assert_int_eq(few[2].index, kMany - 3);
  options.max_kept = 0;
  suppress_non_maxima(boxes, options, &candidates, &kept);
  ck_assert(candidates.empty());
}
END_TEST

// Boxes of which many overlap, some are inside out and some have no place.
std::vector<Box> some_boxes(size_t count, unsigned seed) {
  std::vector<float> corners = test::seeded_floats(4 * count, seed, 0, 1);
  std::vector<Box> boxes;
  for (size_t i = 0; i < count; ++i) {
    const float *c = &corners[4 * i], size = i % 3 == 0 ? 0.9f : 0.2f;
    boxes.push_back({c[0], c[1], c[0] + size * c[2], c[1] + size * c[3]});
    if (i % 11 == 5) std::swap(boxes[i].x0, boxes[i].x1);
  }
  return boxes;
}

void check_against_plain(const std::vector<Box>& boxes, const NmsOptions& options) {
  std::vector<Candidate> wanted;
  // Scores that are often the same.
  for (size_t i = 0; i < boxes.size(); ++i) {
    wanted.push_back({static_cast<float>(i * 7 % 13), static_cast<int>(i)});
  }
  const std::vector<Candidate> all = wanted;
  plain::suppress_non_maxima(boxes, options, &wanted);
  KeptBoxes kept;
  test::on_every_target([&](const char* target) {
    std::vector<Candidate> found = all;
    suppress_non_maxima(boxes, options, &found, &kept);
    ck_assert_msg(found.size() == wanted.size(), "%s keeps %zu of %zu, not %zu", target,
                  found.size(), all.size(), wanted.size());
    for (size_t i = 0; i < found.size(); ++i) {
      ck_assert_msg(found[i].index == wanted[i].index, "%s keeps %d, not %d", target,
                    found[i].index, wanted[i].index);
    }
  });
}

START_TEST(vectors_keep_what_the_plain_form_keeps) {
  for (size_t count = 0; count <= 70; ++count) {
    for (float threshold : {0.0f, 0.1f, 0.45f, 0.95f}) {
      NmsOptions options;
      options.iou_threshold = threshold;
      check_against_plain(some_boxes(count, static_cast<unsigned>(count)), options);
      options.eta = 0.9f;
      options.top_k = 20;
      options.max_kept = 9;
      check_against_plain(some_boxes(count, static_cast<unsigned>(count)), options);
    }
  }
}
END_TEST

START_TEST(boxes_that_are_no_numbers_are_judged_alike) {
  for (size_t at = 0; at < 40; ++at) {
    for (float odd : test::odd_floats()) {
      std::vector<Box> boxes = some_boxes(40, 3);
      (&boxes[at].x0)[at % 4] = odd;
      boxes[39 - at].y1 = odd;
      check_against_plain(boxes, NmsOptions());
    }
  }
}
END_TEST

START_TEST(an_overlap_of_just_the_threshold_stays) {
  // 1 / 7 as it is rounded, and the number below it.
  const float seventh = intersection_over_union({0, 0, 2, 2}, {1, 1, 3, 3});
  for (float threshold : {seventh, std::nextafter(seventh, 0.0f)}) {
    NmsOptions options;
    options.iou_threshold = threshold;
    check_against_plain({{0, 0, 2, 2}, {1, 1, 3, 3}}, options);
  }
}
END_TEST

DVNN_TEST_MAIN(suppression, overlap_is_intersection_over_union, the_best_of_overlapping_boxes_stays,
               only_the_top_k_are_looked_at, no_more_are_kept_than_asked_for,
               vectors_keep_what_the_plain_form_keeps, boxes_that_are_no_numbers_are_judged_alike,
               an_overlap_of_just_the_threshold_stays)
