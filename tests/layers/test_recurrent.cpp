// SPDX-License-Identifier: Apache-2.0
// Recurrent.
#include <cmath>
#include <random>

#include "layer_run.h"
#include "layers/bound_layer.h"

namespace dvnn::test::recurrent_tests {

DVNN_SUITE(layers);

using namespace dvnn::layers;
using json = dvnn::Json;

DVNN_TEST(an_rnn_carries_its_state) {
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

static std::vector<float> seeded(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> values(count);
  for (float& v : values) v = static_cast<float>(random() % 2001) / 1000 - 1;
  return values;
}

static float dot(const float* a, const float* b, size_t count) {
  float sum = 0;
  for (size_t i = 0; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

static float sigmoid(float x) {
  return 1 / (1 + std::exp(-x));
}

// One step of one row by ONNX' formulas.
struct Reference {
  size_t inputs, hidden;
  bool lstm, reset_after;
  std::vector<float> w, r, bias;

  float from_input(const float* x, size_t row) const {
    return dot(&w[row * inputs], x, inputs) + bias[row];
  }
  float from_state(const float* h, size_t row) const {
    return dot(&r[row * hidden], h, hidden) + bias[(lstm ? 4 : 3) * hidden + row];
  }

  void step(const float* x, std::vector<float>* state, std::vector<float>* cell) const {
    const std::vector<float> old = *state;
    auto gate = [&](size_t g, size_t h) {
      return from_input(x, g * hidden + h) + from_state(old.data(), g * hidden + h);
    };
    std::vector<float> reset(hidden);
    for (size_t h = 0; h < hidden && !lstm; ++h) {
      reset[h] = sigmoid(gate(1, h)) * (reset_after ? 1 : old[h]);
    }
    for (size_t h = 0; h < hidden; ++h) {
      if (lstm) {
        float& c = (*cell)[h];
        c = sigmoid(gate(2, h)) * c + sigmoid(gate(0, h)) * std::tanh(gate(3, h));
        (*state)[h] = sigmoid(gate(1, h)) * std::tanh(c);
      } else {
        const size_t row = 2 * hidden + h;
        const float made =
            reset_after ? from_state(old.data(), row) * reset[h] : from_state(reset.data(), row);
        const float update = sigmoid(gate(0, h));
        (*state)[h] = (1 - update) * std::tanh(from_input(x, row) + made) + update * old[h];
      }
    }
  }
};

static void compare(bool lstm, bool reset_after, bool reverse, size_t cells = 19) {
  constexpr size_t kSteps = 41, kBatch = 2, kInputs = 7;
  const size_t rows = (lstm ? 4 : 3) * cells;
  const int row_count = static_cast<int>(rows), hidden = static_cast<int>(cells);
  const std::vector<float> x = seeded(kSteps * kBatch * kInputs, 1);
  // Sums of as much as nineteen cells', so that small differences do not grow from step to step.
  std::vector<float> from_state = seeded(rows * cells, 3);
  for (float& weight : from_state) weight *= 19.0f / static_cast<float>(cells);
  const Reference reference = {kInputs,
                               cells,
                               lstm,
                               reset_after,
                               seeded(rows * kInputs, 2),
                               from_state,
                               seeded(2 * rows, 4)};
  const std::vector<Tensor> inputs = {{plain({kSteps, kBatch, kInputs}), x},
                                      {plain({row_count, kInputs}), reference.w},
                                      {plain({row_count, hidden}), reference.r},
                                      {plain({2 * row_count}), reference.bias},
                                      {plain({kBatch, hidden}), seeded(kBatch * cells, 5)},
                                      {plain({kBatch, hidden}), seeded(kBatch * cells, 6)},
                                      {plain({3 * hidden}), std::vector<float>(3 * cells)}};
  json params = {{"kind", lstm ? "lstm" : "gru"}, {"reverse", reverse}};
  params["activations"] = {"sigmoid", "tanh", "tanh"};
  params["reset_after"] = reset_after;
  const std::vector<float> made = run("Recurrent", params, inputs, {kSteps, kBatch, hidden});
  for (size_t b = 0; b < kBatch; ++b) {
    auto part = [b, cells](const Tensor& t) {
      const auto first = t.values.begin() + static_cast<ptrdiff_t>(b * cells);
      return std::vector<float>(first, first + cells);
    };
    std::vector<float> state = part(inputs[4]), cell = part(inputs[5]);
    for (size_t s = 0; s < kSteps; ++s) {
      const size_t at = (reverse ? kSteps - 1 - s : s) * kBatch + b;
      reference.step(&x[at * kInputs], &state, &cell);
      for (size_t h = 0; h < cells; ++h)
        ck_assert_float_eq_tol(made[at * cells + h], state[h], 1e-5f);
    }
  }
}

DVNN_TEST(cells_follow_the_formulas) {
  compare(true, false, false);
  compare(true, false, true);
  compare(false, false, false);
  compare(false, true, true);
  compare(true, false, false, 75);  // more rows than a panel of weights
  compare(false, false, true, 75);
}

// A layer may keep transposed weights for the next run only if they are constants.
DVNN_TEST(weights_may_change_from_run_to_run) {
  constexpr int kCells = 5, kRows = 4 * kCells;
  std::vector<std::vector<float>> memory = {
      seeded(6, 1),      seeded(kRows * 6, 2), seeded(kRows * kCells, 3), seeded(2 * kRows, 4),
      seeded(kCells, 5), seeded(kCells, 6),    seeded(3 * kCells, 7)};
  const std::vector<TensorDesc> descs = {
      plain({1, 1, 6}),   plain({kRows, 6}),  plain({kRows, kCells}), plain({2 * kRows}),
      plain({1, kCells}), plain({1, kCells}), plain({3 * kCells})};
  std::vector<float> made(kCells);
  const auto attributes = RecurrentAttributes::parse(json::object());
  const auto bound = [&] {
    BoundLayer layer;
    for (size_t i = 0; i < descs.size(); ++i) {
      layer.add_input({descs[i], reinterpret_cast<const uint8_t*>(memory[i].data())});
    }
    layer.add_output({plain({1, 1, kCells}), reinterpret_cast<uint8_t*>(made.data())});
    ck_assert(layer.create(attributes.value()).ok());
    return layer;
  };
  BoundLayer changing = bound(), constant = bound();
  for (const size_t i : {1, 2}) constant.input_will_stay(i);
  ck_assert(changing.run().ok());
  const std::vector<float> before = made;
  ck_assert(constant.run().ok() && made == before);
  ck_assert(constant.run().ok() && made == before);
  const std::vector<float> others = seeded(kRows * kCells, 8);
  std::copy(others.begin(), others.end(), memory[2].begin());
  ck_assert(changing.run().ok() && made != before);
  const std::vector<float> after = made;
  ck_assert(bound().run().ok() && made == after);
}

}  // namespace dvnn::test::recurrent_tests
