// SPDX-License-Identifier: Apache-2.0
#include "kernels/boxes/prior_box.h"

#include <cmath>

#include "base/json.h"
#include "check_suite.h"

namespace dvnn::test::prior_box_tests {

DVNN_SUITE(prior_box);

using namespace dvnn::kernels;
using json = dvnn::Json;

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

DVNN_TEST(impossible_parameters_are_refused_by_name) {
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

}  // namespace dvnn::test::prior_box_tests
