// SPDX-License-Identifier: Apache-2.0
// Reduce, ArgReduce, Standardize.
#include <cmath>
#include <map>

#include "../layer_run.h"

namespace dvnn::test::reduce_tests {

DVNN_SUITE(layers);

using namespace dvnn::layers;
using json = dvnn::Json;

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

}  // namespace dvnn::test::reduce_tests
