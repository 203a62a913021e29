// SPDX-License-Identifier: Apache-2.0
// Values of layers that compute, other than functions of single elements (test_elementwise.cpp).
#include <array>
#include <cmath>
#include <map>

#include "layer_run.h"

namespace dvnn::test::arithmetic_tests {

DVNN_SUITE(layers);

using namespace dvnn::layers;
using json = dvnn::Json;

DVNN_TEST(a_constant_has_its_values) {
  expect(run("Constant", {{"values", {1, 2, 3, 4}}}, {}, {1, 2, 1, 2}), {1, 2, 3, 4});
}

DVNN_TEST(squares_of_neighbouring_channels_divide) {
  const Tensor in = {plain({1, 3, 1, 1}), {1, 2, 3}};
  // Over bias + alpha / size * the squares of up to three channels.
  expect(run("LRN", {{"size", 3}, {"alpha", 3}, {"beta", 1}, {"bias", 1}}, {in}, {1, 3, 1, 1}),
         {1 / 6.0f, 2 / 15.0f, 3 / 14.0f});
}

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

DVNN_TEST(normalize_scales_to_unit_length) {
  const Tensor t = {plain({1, 2, 1, 2}), {3, 0, 4, 2}};
  expect(
      run("Normalize", {{"across_spatial", false}, {"channel_shared", false}, {"scale", {10, 20}}},
          {t}, {1, 2, 1, 2}),
      {6, 0, 16, 20});
}

DVNN_TEST(the_largest_come_first_with_their_places) {
  const Tensor in = {plain({1, 4}), {2, 7, 7, 1}};
  expect(run("TopK", {{"axis", 1}, {"k", 3}}, {in}, {1, 3}), {7, 7, 2});
  expect(run("TopK", {{"axis", 1}, {"k", 3}, {"places", true}}, {in}, {1, 3}), {1, 2, 0});
  expect(run("TopK", {{"axis", 1}, {"k", 2}, {"smallest", true}}, {in}, {1, 2}), {1, 2});
}

DVNN_TEST(sums_grow_along_an_axis) {
  const Tensor in = {plain({2, 3}), {1, 2, 3, 4, 5, 6}};
  expect(run("CumSum", {{"axis", 1}}, {in}, {2, 3}), {1, 3, 6, 4, 9, 15});
  expect(run("CumSum", {{"axis", 1}, {"exclusive", true}, {"reverse", true}}, {in}, {2, 3}),
         {5, 3, 0, 11, 6, 0});
}

DVNN_TEST(groups_become_one_number) {
  const Tensor in = {plain({1, 2, 1, 2}), {1, 2, 3, -4}};
  auto reduce = [&](const char* operation) {
    return run("Reduce", {{"operation", operation}, {"axes", {1, 3}}}, {in}, {1, 1, 1, 1});
  };
  expect(reduce("sum"), {2});
  expect(reduce("mean"), {0.5f});
  expect(reduce("l1"), {10});
  expect(reduce("prod"), {-24});
  expect(reduce("max"), {3});
}

DVNN_TEST(groups_of_any_axes_are_folded_in_order) {
  const Shape shape = {3, 130, 2, 37};
  Tensor in = {plain(shape), counting(static_cast<size_t>(shape.elements()))};
  for (float& x : in.values) x = std::fmod(x * 37, 61.0f) / 4 - 7;
  for (unsigned axes = 1; axes < 16; ++axes) {
    Shape out = shape;
    json named = json::array();
    for (int i = 0; i < 4; ++i) {
      if (!(axes >> i & 1)) continue;
      named.push_back(i);
      out[i] = 1;
    }
    std::vector<double> sums(static_cast<size_t>(out.elements())), most(sums.size(), -100);
    std::vector<float> counts(sums.size(), -1), places(sums.size());
    for (size_t i = 0; i < in.values.size(); ++i) {
      size_t rest = i, at = 0, stride = 1;
      for (int k = 3; k >= 0; --k) {
        const size_t index = rest % static_cast<size_t>(shape[k]);
        rest /= static_cast<size_t>(shape[k]);
        at += out[k] > 1 ? index * stride : 0;
        stride *= static_cast<size_t>(out[k]);
      }
      const auto x = static_cast<double>(in.values[i]);
      sums[at] += x * x;
      counts[at] += 1;
      if (x > most[at]) places[at] = counts[at];
      most[at] = std::max(most[at], x);
    }
    const TensorDesc from = in.desc, to = plain(out);
    auto made = [&](const char* type, const json& params) {
      auto layer = create_layer(type, params, {&from, 1}, {&to, 1});
      ck_assert(layer.ok());
      std::vector<float> result(sums.size());
      const ConstTensorView view = {from, reinterpret_cast<const uint8_t*>(in.values.data())};
      const TensorView into = {to, reinterpret_cast<uint8_t*>(result.data())};
      ck_assert(layer.value()->run({&view, 1}, {&into, 1}).ok());
      return result;
    };
    const std::vector<float> squares = made("Reduce", {{"operation", "l2"}, {"axes", named}});
    const std::vector<float> largest = made("Reduce", {{"operation", "max"}, {"axes", named}});
    for (size_t i = 0; i < sums.size(); ++i) {
      ck_assert(squares[i] == static_cast<float>(std::sqrt(sums[i])));
      ck_assert(largest[i] == static_cast<float>(most[i]));
    }
    if (named.size() > 1) continue;
    ck_assert(made("ArgReduce", {{"operation", "max"}, {"axis", named[0]}}) == places);
  }
}

DVNN_TEST(the_first_of_equals_is_the_place_unless_the_last_is_asked_for) {
  const Tensor in = {plain({1, 4}), {2, 7, 7, 1}};
  expect(run("ArgReduce", {{"operation", "max"}, {"axis", 1}}, {in}, {1, 1}), {1});
  expect(run("ArgReduce", {{"operation", "max"}, {"axis", 1}, {"last", true}}, {in}, {1, 1}), {2});
  expect(run("ArgReduce", {{"operation", "min"}, {"axis", 1}}, {in}, {1, 1}), {3});
}

DVNN_TEST(standardized_groups_have_mean_0_and_variance_1) {
  const Tensor in = {plain({1, 4}), {1, 3, 1, 3}};
  expect(run("Standardize", {{"axes", {1}}, {"epsilon", 0}}, {in}, {1, 4}), {-1, 1, -1, 1});
  const Tensor squares = {plain({1, 2}), {3, 4}};
  const float length = std::sqrt(12.5f);
  expect(run("Standardize", {{"axes", {1}}, {"epsilon", 0}, {"centre", false}}, {squares}, {1, 2}),
         {3 / length, 4 / length});
}

DVNN_TEST(groups_of_any_axes_are_standardized_in_order) {
  const Shape shape = {3, 130, 2, 37};
  Tensor in = {plain(shape), counting(static_cast<size_t>(shape.elements()))};
  for (float& x : in.values) x = std::fmod(x * 37, 61.0f) / 7 - 4;
  for (unsigned axes = 1; axes < 16; ++axes) {
    std::vector<size_t> group_of(in.values.size());
    json named = json::array();
    for (int i = 0; i < 4; ++i) {
      if (axes >> i & 1) named.push_back(i);
    }
    for (size_t i = 0; i < group_of.size(); ++i) {
      size_t rest = i;
      for (int k = 3; k >= 0; rest /= static_cast<size_t>(shape[k]), --k) {
        const size_t index = axes >> k & 1 ? 0 : rest % static_cast<size_t>(shape[k]);
        group_of[i] = group_of[i] * 256 + index;
      }
    }
    std::map<size_t, double> means, squares, counts;
    for (size_t i = 0; i < group_of.size(); ++i) {
      means[group_of[i]] += static_cast<double>(in.values[i]);
      counts[group_of[i]] += 1;
    }
    for (auto& [group, mean] : means) mean /= counts[group];
    for (size_t i = 0; i < group_of.size(); ++i) {
      const double far = static_cast<double>(in.values[i]) - means[group_of[i]];
      const volatile double square = far * far;
      squares[group_of[i]] += square;
    }
    const auto made = run("Standardize", {{"axes", named}, {"epsilon", 0}}, {in}, shape);
    for (size_t i = 0; i < made.size(); ++i) {
      const size_t group = group_of[i];
      const double factor = 1 / std::sqrt(squares[group] / counts[group] + 0);
      const double far = static_cast<double>(in.values[i]) - means[group];
      ck_assert(made[i] == static_cast<float>(far * factor));
    }
  }
}

DVNN_TEST(softmax_sums_to_one_and_cannot_overflow) {
  const Tensor t = {plain({1, 2, 2}), {1000, 1000, -5, -4}};
  const auto out = run("Softmax", {{"axis", 2}}, {t}, {1, 2, 2});
  ck_assert_float_eq_tol(out[0], 0.5f, 1e-6f);
  ck_assert_float_eq_tol(out[3], 1 / (1 + std::exp(-1.0f)), 1e-6f);
  const Tensor columns = {plain({1, 2, 1, 2}), {0, 1, 0, 3}};
  const auto by_channel = run("Softmax", {{"axis", 1}}, {columns}, {1, 2, 1, 2});
  ck_assert_float_eq_tol(by_channel[1] + by_channel[3], 1.0f, 1e-6f);
}

}  // namespace dvnn::test::arithmetic_tests
