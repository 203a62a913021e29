// SPDX-License-Identifier: Apache-2.0
// Softmax.
#include <cmath>

#include "../layer_run.h"

namespace dvnn::test::softmax_tests {

DVNN_SUITE(layers);

using namespace dvnn::layers;
using json = dvnn::Json;

DVNN_TEST(softmax_sums_to_one_and_cannot_overflow) {
  const Tensor t = {plain({1, 2, 2}), {1000, 1000, -5, -4}};
  const auto out = run("Softmax", {{"axis", 2}}, {t}, {1, 2, 2});
  ck_assert_float_eq_tol(out[0], 0.5f, 1e-6f);
  ck_assert_float_eq_tol(out[3], 1 / (1 + std::exp(-1.0f)), 1e-6f);
  const Tensor columns = {plain({1, 2, 1, 2}), {0, 1, 0, 3}};
  const auto by_channel = run("Softmax", {{"axis", 1}}, {columns}, {1, 2, 1, 2});
  ck_assert_float_eq_tol(by_channel[1] + by_channel[3], 1.0f, 1e-6f);
}

}  // namespace dvnn::test::softmax_tests
