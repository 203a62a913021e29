// SPDX-License-Identifier: Apache-2.0
#include "plan/passes/quantise.h"

#include <cmath>
#include <random>

#include "check_suite.h"

namespace dvnn::test::quantise_tests {

DVNN_SUITE(plan_quantise);

using namespace dvnn::plan;

namespace {

float stored(const QuantisedWeights& q, size_t i) {
  return half_to_float(q.table[q.indices[i]]);
}

std::vector<float> gaussian(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> value(0, 0.05f);
  std::vector<float> weights;
  for (size_t i = 0; i < count; ++i) weights.push_back(value(random));
  return weights;
}

double mean_square(const std::vector<float>& weights, const QuantisedWeights& q) {
  double sum = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    const double d = double{weights[i]} - double{stored(q, i)};
    sum += d * d;
  }
  return sum / static_cast<double>(weights.size());
}

}  // namespace

DVNN_TEST(zeros_stay_zero) {
  std::vector<float> weights = gaussian(5000, 1);
  for (size_t i = 0; i < weights.size(); i += 3) weights[i] = 0;
  const QuantisedWeights q = quantise(weights);
  ck_assert_uint_eq(q.table.size(), 256);
  ck_assert(half_to_float(q.table[0]) == 0);
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] == 0) ck_assert_uint_eq(q.indices[i], 0);
  }
  ck_assert(quantise({0, 0, 0}).indices == std::vector<uint8_t>({0, 0, 0}));
  ck_assert(quantise({}).indices.empty());
}

DVNN_TEST(few_values_are_kept) {
  std::mt19937 random(2);
  std::vector<float> weights;
  for (int i = 0; i < 20000; ++i) {
    weights.push_back(half_to_float(float_to_half(static_cast<float>(random() % 200) / 64 - 1.6f)));
  }
  const QuantisedWeights q = quantise(weights);
  for (size_t i = 0; i < weights.size(); ++i) ck_assert(stored(q, i) == weights[i]);
}

DVNN_TEST(errors_are_near_the_least_possible) {
  // Panter and Dite: with n levels the least mean square error of a Gaussian is
  // sqrt(3) pi / 2 * variance / n^2. Ten percent more are allowed: 40,000 samples, binary16
  // centres.
  const std::vector<float> weights = gaussian(40000, 3);
  const double least = std::sqrt(3.0) * M_PI / 2 * 0.05 * 0.05 / (255.0 * 255.0);
  const double have = mean_square(weights, quantise(weights));
  ck_assert_msg(have < 1.1 * least, "%g, the least is %g", have, least);
}

DVNN_TEST(the_result_depends_on_the_weights_alone) {
  const std::vector<float> weights = gaussian(3000, 4);
  const QuantisedWeights a = quantise(weights), b = quantise(weights);
  ck_assert(a.table == b.table && a.indices == b.indices);
}

}  // namespace dvnn::test::quantise_tests
