// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "base/json.h"
#include "check_suite.h"
#include "kernels/boxes/prior_box.h"

namespace dvnn::test::prior_tests {

DVNN_SUITE(prior);

using namespace dvnn::kernels;
using json = dvnn::Json;

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

}  // namespace dvnn::test::prior_tests
