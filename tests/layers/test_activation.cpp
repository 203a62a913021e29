// SPDX-License-Identifier: Apache-2.0
// ReLU, ELU, Sigmoid, TanH.
#include <cmath>

#include "layer_run.h"

namespace dvnn::test::activation_tests {

using namespace dvnn::layers;
using json = dvnn::Json;

START_TEST(activations_bend_negative_inputs) {
  const Tensor in = {plain({1, 1, 1, 3}), {1, -2, 3}};
  expect(run("ReLU", {{"slope", 0.5}}, {in}, {1, 1, 1, 3}), {1, -1, 3});
  expect(run("ELU", json::object(), {in}, {1, 1, 1, 3}), {1, std::exp(-2.0f) - 1, 3});
  const Tensor small = {plain({1, 1, 1, 2}), {0, std::log(3.0f)}};
  expect(run("Sigmoid", json::object(), {small}, {1, 1, 1, 2}), {0.5f, 0.75f});
  expect(run("TanH", json::object(), {small}, {1, 1, 1, 2}), {0, 0.8f});
}
END_TEST

DVNN_SUITE(layers, activations_bend_negative_inputs)

}  // namespace dvnn::test::activation_tests
