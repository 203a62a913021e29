// SPDX-License-Identifier: Apache-2.0
// Binary and Where.
#include "layer_run.h"

using namespace dvnn;
using namespace dvnn::layers;
using namespace dvnn::test;
using json = dvnn::Json;

START_TEST(operands_of_one_element_repeat) {
  const Tensor a = {plain({1, 2, 1, 2}), {1, 2, 3, 4}}, channel = {plain({2, 1, 1}), {10, 20}};
  expect(run("Binary", {{"operation", "add"}}, {a, channel}, {1, 2, 1, 2}), {11, 12, 23, 24});
  expect(run("Binary", {{"operation", "less"}}, {a, {plain({1}), {3}}}, {1, 2, 1, 2}),
         {1, 1, 0, 0});
}
END_TEST

START_TEST(remainders_have_the_sign_that_is_asked_for) {
  const Tensor a = {plain({1, 1, 1, 2}), {-5, 5}}, b = {plain({1, 1, 1, 2}), {3, -3}};
  expect(run("Binary", {{"operation", "mod"}}, {a, b}, {1, 1, 1, 2}), {1, -1});
  expect(run("Binary", {{"operation", "fmod"}}, {a, b}, {1, 1, 1, 2}), {-2, 2});
}
END_TEST

START_TEST(where_chooses_between_two) {
  const Tensor which = {plain({1, 1, 1, 3}), {1, 0, 1}}, yes = {plain({1, 1, 1, 3}), {1, 2, 3}};
  expect(run("Where", json::object(), {which, yes, {plain({1}), {9}}}, {1, 1, 1, 3}), {1, 9, 3});
}
END_TEST

DVNN_TESTS(binary, operands_of_one_element_repeat, remainders_have_the_sign_that_is_asked_for,
           where_chooses_between_two)
