// SPDX-License-Identifier: Apache-2.0
// Border.
#include "../layer_run.h"

namespace dvnn::test::border_tests {

DVNN_SUITE(layers);

using namespace dvnn::layers;
using json = dvnn::Json;

DVNN_TEST(borders_are_made_of_what_is_inside) {
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

DVNN_TEST(every_axis_has_a_border) {
  // The first axis, too, and an axis between others, from whose far end it takes.
  const Tensor in = {plain({2, 2, 2}), {1, 2, 3, 4, 5, 6, 7, 8}};
  auto grow = [&](const char* mode) {
    return run("Border",
               {{"before", {1, 0, 0}}, {"after", {0, 1, 0}}, {"mode", mode}, {"value", 9}}, {in},
               {3, 3, 2});
  };
  expect(grow("constant"), {9, 9, 9, 9, 9, 9, 1, 2, 3, 4, 9, 9, 5, 6, 7, 8, 9, 9});
  expect(grow("reflect"), {5, 6, 7, 8, 5, 6, 1, 2, 3, 4, 1, 2, 5, 6, 7, 8, 5, 6});
  expect(grow("wrap"), {5, 6, 7, 8, 5, 6, 1, 2, 3, 4, 1, 2, 5, 6, 7, 8, 5, 6});
}

}  // namespace dvnn::test::border_tests
