// SPDX-License-Identifier: Apache-2.0
#include "kernels/boxes/prior.h"

#include <cmath>

#include "check_suite.h"

namespace dvnn::test::prior_tests {

DVNN_SUITE(prior);

using namespace dvnn::kernels;

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

}  // namespace dvnn::test::prior_tests
