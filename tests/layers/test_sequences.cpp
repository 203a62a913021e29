// SPDX-License-Identifier: Apache-2.0
// Values of layers along sequences: attention, against the formula in double precision, and
// recurrent ones.
#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <random>

#include "layer_run.h"
#include "layers/bound_layer.h"
#include "tensor/half.h"

namespace dvnn::test::sequences_tests {

DVNN_SUITE(layers);

using namespace dvnn::layers;
using json = dvnn::Json;

namespace {

struct Case {
  int sequences, heads, size, value_size, queries, keys;  // the last two of each sequence
  std::vector<int> first, step;
  Shape bias = {};  // rank 0: none
};

Tensor seeded(Shape shape, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> values(shape.count());
  for (float& v : values) v = static_cast<float>(random() % 2001) / 1000 - 1;
  return {plain(shape), values};
}

double channel_of(const Tensor& t, int input, const Case& c, int head, int channel, int token) {
  const auto i = static_cast<size_t>(input);
  const int line = c.first[i] + head * c.step[i] + channel;
  return static_cast<double>(t.values[static_cast<size_t>(line * t.desc.shape.w() + token)]);
}

double bias_of(const Tensor& t, int s, int h, int i, int j) {
  int64_t at = 0;
  const int index[] = {s, h, i, j};
  for (int axis = 0; axis < 4; ++axis) {
    const int size = t.desc.shape[axis];
    at = at * size + (size == 1 ? 0 : index[axis]);
  }
  return static_cast<double>(t.values[static_cast<size_t>(at)]);
}

std::vector<double> wanted(const Case& c, const std::vector<Tensor>& in, double scale) {
  const int all = c.sequences * c.queries;
  std::vector<double> want(static_cast<size_t>(c.heads * c.value_size * all));
  for (int s = 0; s < c.sequences; ++s) {
    for (int h = 0; h < c.heads; ++h) {
      for (int i = 0; i < c.queries; ++i) {
        std::vector<double> weights;
        double sum = 0;
        for (int j = 0; j < c.keys; ++j) {
          double dot = 0;
          for (int k = 0; k < c.size; ++k) {
            dot += channel_of(in[0], 0, c, h, k, s * c.queries + i) *
                   channel_of(in[1], 1, c, h, k, s * c.keys + j);
          }
          if (in.size() > 3)
            dot = dot * scale + bias_of(in[3], s, h, i, j);
          else
            dot *= scale;
          weights.push_back(std::exp(dot));
          sum += weights.back();
        }
        for (int k = 0; k < c.value_size; ++k) {
          double seen = 0;
          for (int j = 0; j < c.keys; ++j) {
            seen += weights[static_cast<size_t>(j)] / sum *
                    channel_of(in[2], 2, c, h, k, s * c.keys + j);
          }
          want[static_cast<size_t>((h * c.value_size + k) * all + s * c.queries + i)] = seen;
        }
      }
    }
  }
  return want;
}

}  // namespace

DVNN_TEST(each_query_sees_what_the_formula_says) {
  const Case cases[] = {
      {1, 1, 4, 4, 3, 5, {0, 0, 0}, {0, 0, 0}},
      {1, 2, 8, 8, 9, 9, {0, 16, 32}, {8, 8, 8}},                  // q, k, v in one
      {2, 3, 5, 3, 7, 7, {0, 5, 10}, {13, 13, 13}, {2, 3, 7, 7}},  // head by head
      {3, 2, 4, 6, 5, 4, {1, 2, 0}, {4, 5, 6}, {1, 2, 1, 4}},
      {1, 2, 8, 8, 150, 130, {0, 0, 0}, {8, 8, 8}, {1, 1, 150, 130}},  // several blocks of rows
      {2, 1, 3, 2, 1, 600, {0, 0, 0}, {0, 0, 0}},
      {1, 2, 8, 8, 30, 197, {0, 0, 0}, {8, 8, 8}},  // the last panels of keys share what is left
  };
  unsigned seed = 1;
  for (size_t n = 0; n < 3 * std::size(cases); ++n) {
    const Case& c = cases[n / 3];
    const double scale = std::array{0.75, 0.0, -0.75}[n % 3];
    std::vector<Tensor> in;
    for (size_t i = 0; i < 3; ++i) {
      const int channels =
          c.first[i] + (c.heads - 1) * c.step[i] + (i == 2 ? c.value_size : c.size);
      in.push_back(seeded({1, channels, 1, c.sequences * (i == 0 ? c.queries : c.keys)}, ++seed));
    }
    if (c.bias.rank > 0) in.push_back(seeded(c.bias, ++seed));
    const json params = {{"sequences", c.sequences},
                         {"heads", c.heads},
                         {"size", c.size},
                         {"value_size", c.value_size},
                         {"scale", scale},
                         {"first", c.first},
                         {"step", c.step}};
    const Shape out = {1, c.heads * c.value_size, 1, c.sequences * c.queries};
    const auto have = run("Attention", params, in, out);
    const auto want = wanted(c, in, scale);
    for (size_t i = 0; i < want.size(); ++i) {
      ck_assert_float_eq_tol(have[i], static_cast<float>(want[i]), 1e-5f);
    }
  }
}

// In the device's chunks, the result is that of planes of the same numbers, rounded once; also if
// it replaces an input.
DVNN_TEST(chunks_and_planes_give_the_same_bits) {
  const Case cases[] = {
      {1, 2, 8, 16, 150, 130, {0, 16, 32}, {8, 8, 16}, {1, 2, 150, 130}},
      {4, 3, 16, 8, 49, 49, {0, 48, 96}, {16, 16, 8}, {4, 1, 49, 49}},
      {2, 2, 16, 16, 70, 70, {0, 32, 64}, {16, 16, 16}},
      {1, 3, 8, 8, 67, 1, {8, 0, 16}, {8, 16, 8}, {1, 3, 1, 1}},
      {1, 2, 16, 8, 30, 197, {0, 0, 0}, {16, 16, 8}},
  };
  for (const Case& c : cases) {
    const Json params = {{"sequences", c.sequences},
                         {"heads", c.heads},
                         {"size", c.size},
                         {"value_size", c.value_size},
                         {"scale", 0.3},
                         {"first", c.first},
                         {"step", c.step}};
    const Shape result = {1, c.heads * c.value_size, 1, c.sequences * c.queries};
    std::vector<float> results[3];
    for (int form = 0; form < 3; ++form) {  // planes, chunks, chunks in place of the queries
      std::vector<TensorDesc> descs;
      std::vector<std::vector<uint8_t>> memory;
      std::vector<ConstTensorView> views;
      for (int i = 0; i < (c.bias.rank > 0 ? 4 : 3); ++i) {
        Shape shape = c.bias;
        if (i < 3) shape = {1, 128, 1, c.sequences * (i == 0 ? c.queries : c.keys)};
        Tensor t = seeded(shape, static_cast<unsigned>(i + 7));
        for (float& v : t.values) v = half_to_float(float_to_half(v));
        if (form > 0 && i < 3) t.desc = {ElementType::kFloat16, Layout::kWhc8, shape};
        descs.push_back(t.desc);
        memory.emplace_back(static_cast<size_t>(t.desc.bytes()));
        write_nchw(t.values.data(), {t.desc, memory.back().data()});
      }
      for (size_t i = 0; i < descs.size(); ++i) views.push_back({descs[i], memory[i].data()});
      const TensorDesc out =
          form > 0 ? TensorDesc{ElementType::kFloat16, Layout::kWhc8, result} : plain(result);
      std::vector<uint8_t> apart(static_cast<size_t>(out.bytes()));
      const TensorView view = {out, form == 2 ? memory[0].data() : apart.data()};
      ck_assert_uint_le(view.desc.bytes(), std::max(apart.size(), memory[0].size()));
      auto layer = create_layer("Attention", params, descs, {&out, 1});
      ck_assert_msg(layer.ok(), "%s", layer.ok() ? "" : layer.error().message.c_str());
      ck_assert(layer.value()->run(views, {&view, 1}).ok());
      results[form].resize(result.count());
      read_nchw({out, view.data}, results[form].data());
    }
    for (size_t i = 0; i < results[0].size(); ++i) {
      const float rounded = half_to_float(float_to_half(results[0][i]));
      ck_assert_float_eq(results[1][i], rounded);
      ck_assert_float_eq(results[2][i], rounded);
    }
  }
}

// Tokens at places give the result of tokens in order, at the same places: each pixel of windows.
DVNN_TEST(tokens_are_read_and_written_at_their_places) {
  constexpr int kTokens = 12;
  const std::vector<int> places = {3, 0, 11, 7, 1, 2, 10, 4, 6, 5, 9, 8};
  for (const int size : {8, 5}) {  // whole chunks, and none
    const int channels = 2 * size;
    Json params = {{"sequences", 3},     {"heads", 2},         {"size", size},
                   {"value_size", size}, {"first", {0, 0, 0}}, {"step", {size, size, size}}};
    const Shape shape = {1, channels, 1, kTokens};
    std::vector<Tensor> in, ordered;
    for (unsigned i = 0; i < 3; ++i) {
      in.push_back(seeded(shape, i + 1));
      ordered.push_back(in.back());
      for (size_t k = 0; k < ordered.back().values.size(); ++k) {
        const size_t row = k / kTokens * kTokens;
        ordered.back().values[k] = in.back().values[row + static_cast<size_t>(places[k % kTokens])];
      }
    }
    const auto want = run("Attention", params, ordered, shape);
    params["places"] = places;
    const auto have = run("Attention", params, in, shape);
    for (size_t k = 0; k < want.size(); ++k) {
      const size_t row = k / kTokens * kTokens;
      ck_assert_float_eq(have[row + static_cast<size_t>(places[k % kTokens])], want[k]);
    }
  }
}

DVNN_TEST(places_that_are_not_all_pixels_are_refused) {
  const auto dims = [](const std::vector<int>& places, const Shape& keys) {
    const Json params = {{"first", {0, 0, 0}}, {"step", {0, 0, 0}}, {"places", places}};
    const std::vector<Shape> shapes = {{1, 1, 1, 3}, keys, keys};
    return dims_after(parse_layer("Attention", params).value(), shapes).ok();
  };
  const Shape three = {1, 1, 1, 3};
  ck_assert(dims({2, 0, 1}, three));
  ck_assert(dims({}, {1, 1, 1, 4}));
  ck_assert(!dims({2, 0, 1}, {1, 1, 1, 4}));  // keys are other tokens
  ck_assert(!dims({2, 0}, three));
  ck_assert(!dims({2, 0, 0}, three));
  ck_assert(!dims({3, 0, 1}, three));
  ck_assert(!parse_layer("Attention", {{"first", {0, 0, 0}}, {"step", {0, 0, 0}}, {"places", {-1}}})
                 .ok());
}

DVNN_TEST(heads_that_are_not_there_are_refused) {
  const json params = {{"sequences", 2},  {"heads", 2},         {"size", 4},
                       {"value_size", 4}, {"first", {0, 0, 0}}, {"step", {4, 4, 4}}};
  const auto dims = [&](const std::vector<Shape>& shapes) {
    return dims_after(parse_layer("Attention", params).value(), shapes).ok();
  };
  const Shape fits = {1, 8, 1, 6};
  ck_assert(dims({fits, fits, fits}));
  ck_assert(!dims({{1, 7, 1, 6}, fits, fits}));
  ck_assert(!dims({fits, {1, 8, 1, 5}, fits}));
  ck_assert(!dims({fits, {1, 8, 1, 8}, fits}));
  ck_assert(!dims({fits, {1, 8, 2, 3}, fits}));
  ck_assert(!dims({fits, fits}));
  ck_assert(dims({fits, fits, fits, {2, 1, 3, 3}}));
  ck_assert(!dims({fits, fits, fits, {3, 1, 3, 3}}));
  ck_assert(!dims({fits, fits, fits, {2, 3, 3}}));
  ck_assert(!parse_layer("Attention", {{"heads", 0}}).ok());
  ck_assert(!parse_layer("Attention", {{"first", {0, 0}}, {"step", {0, 0, 0}}}).ok());
}

// Recurrent.

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

static std::vector<float> seeded_numbers(size_t count, unsigned seed) {
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
  const std::vector<float> x = seeded_numbers(kSteps * kBatch * kInputs, 1);
  // Sums of as much as nineteen cells', so that small differences do not grow from step to step.
  std::vector<float> from_state = seeded_numbers(rows * cells, 3);
  for (float& weight : from_state) weight *= 19.0f / static_cast<float>(cells);
  const Reference reference = {kInputs,
                               cells,
                               lstm,
                               reset_after,
                               seeded_numbers(rows * kInputs, 2),
                               from_state,
                               seeded_numbers(2 * rows, 4)};
  const std::vector<Tensor> inputs = {{plain({kSteps, kBatch, kInputs}), x},
                                      {plain({row_count, kInputs}), reference.w},
                                      {plain({row_count, hidden}), reference.r},
                                      {plain({2 * row_count}), reference.bias},
                                      {plain({kBatch, hidden}), seeded_numbers(kBatch * cells, 5)},
                                      {plain({kBatch, hidden}), seeded_numbers(kBatch * cells, 6)},
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
      seeded_numbers(6, 1),         seeded_numbers(kRows * 6, 2), seeded_numbers(kRows * kCells, 3),
      seeded_numbers(2 * kRows, 4), seeded_numbers(kCells, 5),    seeded_numbers(kCells, 6),
      seeded_numbers(3 * kCells, 7)};
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
  const std::vector<float> others = seeded_numbers(kRows * kCells, 8);
  std::copy(others.begin(), others.end(), memory[2].begin());
  ck_assert(changing.run().ok() && made != before);
  const std::vector<float> after = made;
  ck_assert(bound().run().ok() && made == after);
}

}  // namespace dvnn::test::sequences_tests
