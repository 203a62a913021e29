// SPDX-License-Identifier: Apache-2.0
// MatMul.
#include <array>
#include <cmath>

#include "../layer_run.h"

namespace dvnn::test::matmul_tests {

DVNN_SUITE(layers);

using namespace dvnn::layers;
using json = dvnn::Json;

DVNN_TEST(matrices_of_a_batch_are_multiplied) {
  const Tensor a = {plain({2, 1, 2}), {1, 2, 3, 4}}, b = {plain({1, 2, 2}), {1, 0, 1, 1}};
  expect(run("MatMul", json::object(), {a, b}, {2, 1, 2}), {3, 2, 7, 4});
}

DVNN_TEST(matrices_of_any_size_are_sums_of_products) {
  for (const auto& [m, k, n] : {std::array<int, 3>{70, 33, 1}, {3, 20, 5}, {9, 300, 130}}) {
    const Tensor a = {plain({m, k}), counting(static_cast<size_t>(m * k))};
    Tensor b = {plain({k, n}), counting(static_cast<size_t>(k * n))};
    // Whole numbers, whose sums are exact whether or not a product is rounded before it is added.
    for (float& x : b.values) x = std::fmod(x, 13.0f) - 6;
    const std::vector<float> made = run("MatMul", json::object(), {a, b}, {m, n});
    for (int i = 0; i < m * n; ++i) {
      float sum = 0;
      for (int t = 0; t < k; ++t) {
        sum += a.values[static_cast<size_t>(i / n * k + t)] *
               b.values[static_cast<size_t>(t * n + i % n)];
      }
      ck_assert(made[static_cast<size_t>(i)] == sum);
    }
  }
}

}  // namespace dvnn::test::matmul_tests
