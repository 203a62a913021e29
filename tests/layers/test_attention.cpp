// SPDX-License-Identifier: Apache-2.0
// Attention, against the formula in double precision.
#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <random>

#include "layer_run.h"
#include "tensor/half.h"

namespace dvnn::test::attention_tests {

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

}  // namespace dvnn::test::attention_tests
