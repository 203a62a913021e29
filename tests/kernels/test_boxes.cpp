// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "base/json.h"
#include "check_suite.h"
#include "kernels/boxes/prior_box.h"
#include "kernels/boxes/suppression.h"
#include "kernels/inputs.h"

namespace dvnn::test::boxes_kernel_tests {

DVNN_SUITE(boxes);

using json = dvnn::Json;
using namespace dvnn::kernels;

DVNN_TEST(overlap_is_intersection_over_union) {
  ck_assert_float_eq_tol(intersection_over_union({0, 0, 2, 2}, {1, 1, 3, 3}), 1.0f / 7, 1e-6f);
  ck_assert(intersection_over_union({0, 0, 1, 1}, {1, 0, 2, 1}) == 0);
  ck_assert(intersection_over_union({0, 0, 1, 1}, {0, 0, 1, 1}) == 1);
  ck_assert(intersection_over_union({1, 1, 0, 0}, {1, 1, 0, 0}) == 0);  // inside out
}

DVNN_TEST(the_best_of_overlapping_boxes_stays) {
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

DVNN_TEST(only_the_top_k_are_looked_at) {
  const std::vector<Box> boxes = {{0, 0, 1, 1}, {2, 0, 3, 1}, {4, 0, 5, 1}};
  std::vector<Candidate> candidates = {{0.1f, 0}, {0.2f, 1}, {0.3f, 2}};
  NmsOptions options;
  options.top_k = 2;
  KeptBoxes kept;
  suppress_non_maxima(boxes, options, &candidates, &kept);
  ck_assert_uint_eq(candidates.size(), 2);
  ck_assert_int_eq(candidates[0].index, 2);
}

DVNN_TEST(no_more_are_kept_than_asked_for) {
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

DVNN_TEST(vectors_keep_what_the_plain_form_keeps) {
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

DVNN_TEST(boxes_that_are_no_numbers_are_judged_alike) {
  for (size_t at = 0; at < 40; ++at) {
    for (float odd : test::odd_floats()) {
      std::vector<Box> boxes = some_boxes(40, 3);
      (&boxes[at].x0)[at % 4] = odd;
      boxes[39 - at].y1 = odd;
      check_against_plain(boxes, NmsOptions());
    }
  }
}

DVNN_TEST(an_overlap_of_just_the_threshold_stays) {
  // 1 / 7 as it is rounded, and the number below it.
  const float seventh = intersection_over_union({0, 0, 2, 2}, {1, 1, 3, 3});
  for (float threshold : {seventh, std::nextafter(seventh, 0.0f)}) {
    NmsOptions options;
    options.iou_threshold = threshold;
    check_against_plain({{0, 0, 2, 2}, {1, 1, 3, 3}}, options);
  }
}

namespace {

// Boxes all over the place: `size` is how large they are at the most, `share` of them are of half
// the place's size.
std::vector<Box> spread_boxes(size_t count, float size, float share, unsigned seed) {
  const std::vector<float> random = test::seeded_floats(5 * count, seed, 0, 1);
  std::vector<Box> boxes;
  for (size_t i = 0; i < count; ++i) {
    const float* r = &random[5 * i];
    const float side = r[4] < share ? 0.5f : size;
    boxes.push_back({r[0], r[1], r[0] + side * r[2], r[1] + side * r[3]});
  }
  return boxes;
}

std::vector<TurnedBox> turned_boxes(size_t count, float size, unsigned seed) {
  const std::vector<float> random = test::seeded_floats(5 * count, seed, 0, 1);
  std::vector<TurnedBox> boxes;
  for (size_t i = 0; i < count; ++i) {
    const float* r = &random[5 * i];
    boxes.push_back(
        {640 * r[0], 640 * r[1], size * (r[2] + 0.1f), size * (r[3] + 0.1f), 4 * (r[4] - 0.5f)});
    if (i % 17 == 3) boxes.back().width = 0;
  }
  return boxes;
}

}  // namespace

DVNN_TEST(neighbours_alone_tell_what_all_pairs_tell) {
  const size_t counts[] = {63, 64, 65, 200, static_cast<size_t>(dvnn_rounds(1500))};
  unsigned seed = dvnn_seed(100);
  for (size_t count : counts) {
    for (float size : {0.005f, 0.05f, 0.3f, 1.0f}) {
      for (float share : {0.0f, 0.05f}) {
        for (float threshold : {0.0f, 0.3f, 0.7f}) {
          NmsOptions options;
          options.iou_threshold = threshold;
          check_against_plain(spread_boxes(count, size, share, ++seed), options);
        }
      }
    }
  }
}

DVNN_TEST(rows_columns_and_points_of_boxes_are_places_too) {
  for (int shape = 0; shape < 4; ++shape) {
    std::vector<Box> boxes = spread_boxes(300, 0.02f, 0, static_cast<unsigned>(shape));
    for (size_t i = 0; i < boxes.size(); ++i) {
      Box& b = boxes[i];
      if (shape == 0) b.x0 = 0, b.x1 = 1;                // all as wide as the place
      if (shape == 1) b.y0 = b.y1 = 0.5f;                // of no height
      if (shape == 2) b = {0.25f, 0.25f, 0.75f, 0.75f};  // all the same
      if (shape == 3) b.x0 *= 1e-30f, b.x1 *= 1e-30f;    // next to nothing
    }
    check_against_plain(boxes, NmsOptions());
    for (size_t i = 0; i < boxes.size(); i += 50) boxes[i] = {-1e17f, -3, 1e17f, 2};  // and far
    check_against_plain(boxes, NmsOptions());
  }
}

DVNN_TEST(turned_boxes_share_what_they_truly_share) {
  constexpr float kQuarter = 1.5707963f;
  const TurnedBox flat{10, 10, 8, 2, 0}, same{10, 10, 2, 8, kQuarter},
      across{10, 10, 8, 2, kQuarter};
  ck_assert_float_eq_tol(turned_overlap(flat, flat), 1, 1e-6f);
  ck_assert_float_eq_tol(turned_overlap(flat, same), 1, 1e-6f);
  ck_assert_float_eq_tol(turned_overlap(flat, across), 4.0f / 28, 1e-6f);
  // A square of side 2 and itself by an eighth of a turn: an octagon.
  const TurnedBox square{0, 0, 2, 2, 0}, diamond{0, 0, 2, 2, kQuarter / 2};
  const float octagon = 8 * (std::sqrt(2.0f) - 1);
  ck_assert_float_eq_tol(turned_overlap(square, diamond), octagon / (8 - octagon), 1e-5f);
  ck_assert(turned_overlap(square, {2, 0, 2, 2, 0}) == 0);  // they touch
  ck_assert(turned_overlap(square, {5, 5, 2, 2, 1}) == 0);
  ck_assert(turned_overlap(square, {0, 0, 0, 2, 0}) == 0);
  // Against points of a fine raster.
  const std::vector<TurnedBox> boxes = turned_boxes(40, 300, 9);
  auto within = [](const TurnedBox& b, float x, float y) {
    const float dx = x - b.x, dy = y - b.y, c = std::cos(b.angle), s = std::sin(b.angle);
    return std::abs(dx * c + dy * s) <= b.width / 2 && std::abs(dy * c - dx * s) <= b.height / 2;
  };
  for (size_t i = 0; i + 1 < boxes.size(); ++i) {
    double both = 0, either = 0;
    for (float y = -300; y < 940; y += 4) {
      for (float x = -300; x < 940; x += 4) {
        const bool a = within(boxes[i], x, y), b = within(boxes[i + 1], x, y);
        both += a && b;
        either += a || b;
      }
    }
    const double wanted = either > 0 ? both / either : 0;
    ck_assert_double_eq_tol(double{turned_overlap(boxes[i], boxes[i + 1])}, wanted, 0.02);
  }
}

DVNN_TEST(neighbours_alone_tell_it_of_turned_boxes_too) {
  unsigned seed = dvnn_seed(7);
  KeptBoxes kept;
  for (size_t count : {10, 100, 500}) {
    for (float size : {5.0f, 60.0f, 400.0f}) {
      for (float threshold : {0.0f, 0.2f, 0.6f}) {
        const std::vector<TurnedBox> boxes = turned_boxes(count, size, ++seed);
        std::vector<Candidate> wanted;
        for (size_t i = 0; i < count; ++i) {
          wanted.push_back({static_cast<float>(i * 7 % 13), static_cast<int>(i)});
        }
        std::vector<Candidate> found = wanted;
        NmsOptions options;
        options.iou_threshold = threshold;
        plain::suppress_turned(boxes, options, &wanted);
        suppress_turned(boxes, options, &found, &kept);
        ck_assert_uint_eq(found.size(), wanted.size());
        for (size_t i = 0; i < found.size(); ++i) ck_assert_int_eq(found[i].index, wanted[i].index);
      }
    }
  }
}

DVNN_TEST(turned_boxes_far_down_a_picture_may_overlap_by_little) {
  // By half a thousandth: the boxes around them, which are looked at first, must not lose it.
  const std::vector<TurnedBox> boxes = {{0, 1000, 4, 4, 0}, {0, 1003.9995f, 4, 4, 0}};
  ck_assert_float_gt(turned_overlap(boxes[0], boxes[1]), 0);
  std::vector<Candidate> kept_boxes = {{0.9f, 0}, {0.8f, 1}};
  NmsOptions options;
  options.iou_threshold = 0;
  KeptBoxes kept;
  suppress_turned(boxes, options, &kept_boxes, &kept);
  ck_assert_uint_eq(kept_boxes.size(), 1);
  ck_assert_int_eq(kept_boxes[0].index, 0);
}

DVNN_TEST(ten_times_the_boxes_take_no_hundred_times_the_comparisons) {
  // Boxes beside each other: a grid is asked for those that share a cell.
  size_t asked[2] = {0, 0};
  const size_t counts[2] = {400, 4000};
  for (size_t round = 0; round < 2; ++round) {
    const size_t count = counts[round];
    const float side = 0.5f / std::sqrt(static_cast<float>(count));
    const std::vector<Box> boxes = spread_boxes(count, side, 0, 5);
    std::vector<Candidate> candidates;
    for (size_t i = 0; i < count; ++i) candidates.push_back({0, static_cast<int>(i)});
    BoxGrid grid;
    ck_assert(grid.lay(boxes, candidates));
    for (size_t i = 0; i < count; ++i) {
      bool many = false;
      grid.visit(
          boxes[i], count,
          [&](int) {
            ++asked[round];
            return false;
          },
          &many);
      ck_assert(!many);
      grid.add(boxes[i], static_cast<int>(i));
    }
  }
  ck_assert_uint_lt(asked[1], 20 * asked[0]);
}

DVNN_TEST(deltas_of_zero_give_the_prior) {
  const Prior prior = {{0.25f, 0.5f, 0.75f, 1.0f}, {{0.1f, 0.1f, 0.2f, 0.2f}}};
  const float zero[4] = {};
  for (CodeType type : {CodeType::kCorner, CodeType::kCenterSize, CodeType::kCornerSize}) {
    const Box box = decode_box(type, prior, zero);
    ck_assert_float_eq_tol(box.x0, 0.25f, 1e-6f);
    ck_assert_float_eq_tol(box.y1, 1.0f, 1e-6f);
  }
}

DVNN_TEST(centre_and_size_follow_the_paper) {
  // cx = 0.1 * 2 * 0.4 + 0.5, w = 0.4 exp(0.2 * 1)
  const Prior prior = {{0.3f, 0.4f, 0.7f, 0.6f}, {{0.1f, 0.1f, 0.2f, 0.2f}}};
  const float delta[4] = {2, 0, 1, 0};
  const Box box = decode_box(CodeType::kCenterSize, prior, delta);
  ck_assert_float_eq_tol((box.x0 + box.x1) / 2, 0.58f, 1e-6f);
  ck_assert_float_eq_tol(box.x1 - box.x0, 0.4f * std::exp(0.2f), 1e-6f);
  ck_assert_float_eq_tol(box.y1 - box.y0, 0.2f, 1e-6f);
}

DVNN_TEST(the_published_example_has_8664_boxes) {
  // dv-sdk wiki, custom layers: 38x38 grid, 300x300 image, min 10, max 30, ratios 2 and 3 flipped.
  const json params = {
      {"min_sizes", {10}}, {"max_sizes", {30}}, {"aspect_ratios", {2, 3}},
      {"clip", true},      {"img_w", 300},      {"img_h", 300},
      {"layer_w", 38},     {"layer_h", 38},     {"variances", {0.1, 0.1, 0.2, 0.2}}};
  const auto parsed = parse_prior_box(params);
  ck_assert(parsed.ok());
  const auto priors = make_prior_box(parsed.value());
  ck_assert_uint_eq(priors.size(), 8664);
  // Cell (20, 10): centre step * 20.5; the first box is min/2 squared, the second sqrt(min max)/2.
  const float cx = 300.0f / 38 * 20.5f / 300, cy = 300.0f / 38 * 10.5f / 300;
  const Prior* cell = &priors[(10 * 38 + 20) * 6];
  ck_assert_float_eq_tol(cell[0].box.x0, cx - 5.0f / 300, 1e-6f);
  ck_assert_float_eq_tol(cell[1].box.y1, cy + std::sqrt(300.0f) / 2 / 300, 1e-6f);
  ck_assert_float_eq_tol(cell[2].box.x1, cx + 10 * std::sqrt(2.0f) / 2 / 300, 1e-6f);
  ck_assert_float_eq_tol(cell[3].box.x1, cx + 10 / std::sqrt(2.0f) / 2 / 300, 1e-6f);
  ck_assert(priors[0].box.x0 >= 0 && priors.back().box.x1 <= 1);
  ck_assert(cell[0].variance[2] == 0.2f);
}

DVNN_TEST(impossible_parameters_of_priors_are_refused_by_name) {
  const json good = {
      {"min_sizes", {10}}, {"img_w", 300}, {"img_h", 300}, {"layer_w", 3}, {"layer_h", 3}};
  ck_assert(parse_prior_box(good).ok());
  auto spoiled = [&](const char* key, const json& value) {
    json params = good;
    params[key] = value;
    const auto result = parse_prior_box(params);
    ck_assert(!result.ok());
    return result.error().message;
  };
  ck_assert(spoiled("min_sizes", json::array()).find("min_sizes") != std::string::npos);
  ck_assert(spoiled("max_sizes", {5}).find("max_sizes") != std::string::npos);
  ck_assert(spoiled("layer_w", 1 << 20).find("layer_w") != std::string::npos);
  ck_assert(spoiled("aspect_ratios", {0}).find("aspect_ratios") != std::string::npos);
  ck_assert(spoiled("variances", {1, 2}).find("variances") != std::string::npos);
}

}  // namespace dvnn::test::boxes_kernel_tests
