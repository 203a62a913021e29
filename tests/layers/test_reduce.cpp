// SPDX-License-Identifier: Apache-2.0
// Reduce, ArgReduce, Standardize.
#include <cmath>

#include "layer_run.h"

using namespace dvnn;
using namespace dvnn::layers;
using namespace dvnn::test;
using nlohmann::json;

START_TEST(groups_become_one_number) {
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
END_TEST

START_TEST(the_first_of_equals_is_the_place_unless_the_last_is_asked_for) {
  const Tensor in = {plain({1, 4}), {2, 7, 7, 1}};
  expect(run("ArgReduce", {{"operation", "max"}, {"axis", 1}}, {in}, {1, 1}), {1});
  expect(run("ArgReduce", {{"operation", "max"}, {"axis", 1}, {"last", true}}, {in}, {1, 1}), {2});
  expect(run("ArgReduce", {{"operation", "min"}, {"axis", 1}}, {in}, {1, 1}), {3});
}
END_TEST

START_TEST(standardized_groups_have_mean_0_and_variance_1) {
  const Tensor in = {plain({1, 4}), {1, 3, 1, 3}};
  expect(run("Standardize", {{"axes", {1}}, {"epsilon", 0}}, {in}, {1, 4}), {-1, 1, -1, 1});
  const Tensor squares = {plain({1, 2}), {3, 4}};
  const float length = std::sqrt(12.5f);
  expect(run("Standardize", {{"axes", {1}}, {"epsilon", 0}, {"centre", false}}, {squares}, {1, 2}),
         {3 / length, 4 / length});
}
END_TEST

DVNN_TESTS(reduce, groups_become_one_number,
           the_first_of_equals_is_the_place_unless_the_last_is_asked_for,
           standardized_groups_have_mean_0_and_variance_1)
