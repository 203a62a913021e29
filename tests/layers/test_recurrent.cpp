// SPDX-License-Identifier: Apache-2.0
// Recurrent.
#include "layer_run.h"

using namespace dvnn;
using namespace dvnn::layers;
using namespace dvnn::test;
using nlohmann::json;

START_TEST(an_rnn_carries_its_state) {
  // One unit: state = identity(input + state / 2).
  const Tensor steps = {plain({3, 1, 1}), {1, 2, 4}}, weight = {plain({1, 1}), {1}};
  const Tensor state_weight = {plain({1, 1}), {0.5f}}, bias = {plain({2}), {0, 0}};
  const Tensor zero = {plain({1, 1}), {0}}, peepholes = {plain({3}), {0, 0, 0}};
  const std::vector<Tensor> inputs = {steps, weight, state_weight, bias, zero, zero, peepholes};
  json params = {{"kind", "rnn"}, {"activations", {"identity", "identity", "identity"}}};
  expect(run("Recurrent", params, inputs, {3, 1, 1}), {1, 2.5f, 5.25f});
  params["reverse"] = true;
  expect(run("Recurrent", params, inputs, {3, 1, 1}), {3, 4, 4});
}
END_TEST

DVNN_TESTS(recurrent, an_rnn_carries_its_state)
