// SPDX-License-Identifier: Apache-2.0
// Border.
#include "layer_run.h"

using namespace dvnn;
using namespace dvnn::layers;
using namespace dvnn::test;
using json = dvnn::Json;

START_TEST(borders_are_made_of_what_is_inside) {
  const Tensor in = {plain({1, 3}), {1, 2, 3}};
  auto grow = [&](const char* mode) {
    return run("Border", {{"before", {0, 2}}, {"after", {0, 1}}, {"mode", mode}, {"value", 9}},
               {in}, {1, 6});
  };
  expect(grow("constant"), {9, 9, 1, 2, 3, 9});
  expect(grow("edge"), {1, 1, 1, 2, 3, 3});
  expect(grow("reflect"), {3, 2, 1, 2, 3, 2});
  expect(grow("wrap"), {2, 3, 1, 2, 3, 1});
  expect(run("Border", {{"before", {0, -1}}, {"after", {0, 0}}}, {in}, {1, 2}), {2, 3});
}
END_TEST

DVNN_TESTS(border, borders_are_made_of_what_is_inside)
