// SPDX-License-Identifier: Apache-2.0
// Elementwise and Where, step by step; and chains of elementwise functions, and gathered channels.
#include <cmath>
#include <functional>
#include <random>
#include <thread>

#include "base/json.h"
#include "base/share.h"
#include "check_suite.h"
#include "layer_run.h"
#include "named_layer.h"
#include "tensor/half.h"

namespace dvnn::test::elementwise_layer_tests {

DVNN_SUITE(elementwise_layers);

using json = dvnn::Json;
using namespace dvnn::layers;

DVNN_TEST(functions_of_one_element_compute) {
  const Tensor in = {plain({1, 1, 1, 3}), {-1.5f, 0, 2.5f}};
  auto apply = [&](const char* name, float a = 0, float b = 0) {
    return run("Elementwise", function_of(name, a, b), {in}, {1, 1, 1, 3});
  };
  expect(apply("abs"), {1.5f, 0, 2.5f});
  expect(apply("round"), {-2, 0, 2});  // to even
  expect(apply("clip", -1, 2), {-1, 0, 2});
  expect(apply("exp"), {std::exp(-1.5f), 1, std::exp(2.5f)});
  expect(apply("relu", 0.5f), {-0.75f, 0, 2.5f});
}

DVNN_TEST(channels_have_constants_of_their_own) {
  const Tensor two = {plain({1, 2, 1, 2}), {1, -1, 2, -2}};
  json layer = {{"inputs", 1},
                {"constants", {{0.5, 0.25}}},
                {"steps", {{{"function", "prelu"}, {"of", {0, 1}}}}}};
  expect(run("Elementwise", layer, {two}, {1, 2, 1, 2}), {1, -0.5f, 2, -0.5f});
  layer["constants"] = {{2, 3}, {1, 0}};
  layer["steps"] = {{{"function", "mul"}, {"of", {0, 1}}}, {{"function", "add"}, {"of", {3, 2}}}};
  expect(run("Elementwise", layer, {two}, {1, 2, 1, 2}), {3, -1, 6, -6});
}

DVNN_TEST(operands_of_one_element_repeat) {
  const Tensor a = {plain({1, 2, 1, 2}), {1, 2, 3, 4}}, channel = {plain({2, 1, 1}), {10, 20}};
  expect(run("Elementwise", operation_of("add"), {a, channel}, {1, 2, 1, 2}), {11, 12, 23, 24});
  expect(run("Elementwise", operation_of("less"), {a, {plain({1}), {3}}}, {1, 2, 1, 2}),
         {1, 1, 0, 0});
}

DVNN_TEST(remainders_have_the_sign_that_is_asked_for) {
  const Tensor a = {plain({1, 1, 1, 2}), {-5, 5}}, b = {plain({1, 1, 1, 2}), {3, -3}};
  expect(run("Elementwise", operation_of("mod"), {a, b}, {1, 1, 1, 2}), {1, -1});
  expect(run("Elementwise", operation_of("fmod"), {a, b}, {1, 1, 1, 2}), {-2, 2});
}

DVNN_TEST(where_chooses_between_two) {
  const Tensor which = {plain({1, 1, 1, 3}), {1, 0, 1}}, yes = {plain({1, 1, 1, 3}), {1, 2, 3}};
  expect(run("Where", json::object(), {which, yes, {plain({1}), {9}}}, {1, 1, 1, 3}), {1, 9, 3});
}

// Returns the index in an operand of shape `from` for element `at` of a result of shape `to`.
static size_t place_of(size_t at, const Shape& from, const Shape& to) {
  size_t place = 0, step = 1;
  for (int i = 1; i <= to.rank; ++i) {
    const auto size = static_cast<size_t>(to[to.rank - i]);
    const size_t index = at % size;
    at /= size;
    if (i > from.rank) continue;
    const auto own = static_cast<size_t>(from[from.rank - i]);
    if (own != 1) place += index * step;
    step *= own;
  }
  return place;
}

// Every choice of axes along which an operand repeats, and results longer than a span.
DVNN_TEST(operands_repeat_along_any_axes) {
  const Shape out = {2, 3, 5, 301};
  for (int axes = 0; axes < 16; ++axes) {
    Shape shape = out;
    for (int i = 0; i < 4; ++i) {
      if (axes >> i & 1) shape[i] = 1;
    }
    Tensor whole = {plain(out), {}}, part = {plain(shape), {}};
    for (int64_t i = 0; i < out.elements(); ++i) {
      whole.values.push_back(static_cast<float>(i * 7 % 64));
    }
    for (int64_t i = 0; i < shape.elements(); ++i) {
      part.values.push_back(static_cast<float>(i * 5 % 32));
    }
    const auto sums = run("Elementwise", operation_of("sub"), {whole, part}, out);
    const auto more = run("Elementwise", operation_of("greater"), {part, whole}, out);
    const auto chosen = run("Where", json::object(), {part, whole, part}, out);
    for (size_t i = 0; i < sums.size(); ++i) {
      const float x = whole.values[i], y = part.values[place_of(i, shape, out)];
      ck_assert_msg(sums[i] == x - y, "element %zu with axes %d", i, axes);
      ck_assert_msg(more[i] == (y > x ? 1.0f : 0.0f), "element %zu with axes %d", i, axes);
      ck_assert_msg(chosen[i] == (y != 0 ? x : y), "element %zu with axes %d", i, axes);
    }
  }
}

// Half and whole floats in row-major memory, and a result in the memory of an operand.
DVNN_TEST(a_result_may_have_the_memory_of_an_operand_that_repeats) {
  const TensorDesc row = {ElementType::kFloat16, Layout::kNchw, {1, 4}};
  const TensorDesc all = {ElementType::kFloat16, Layout::kNchw, {3, 4}};
  std::vector<uint8_t> first(static_cast<size_t>(all.bytes())), memory(first.size());
  const std::vector<float> numbers = counting(12);
  write_nchw(numbers.data(), {all, first.data()});
  write_nchw(numbers.data(), {row, memory.data()});
  const std::vector<TensorDesc> descs = {all, row};
  auto layer = create_layer("Elementwise", operation_of("add"), descs, {&all, 1});
  ck_assert(layer.ok());
  const std::vector<ConstTensorView> in = {{all, first.data()}, {row, memory.data()}};
  const TensorView out = {all, memory.data()};
  ck_assert(layer.value()->run(in, {&out, 1}).ok());
  std::vector<float> found(12);
  read_nchw({all, memory.data()}, found.data());
  expect(found, {0, 2, 4, 6, 4, 6, 8, 10, 8, 10, 12, 14});
}

// Chains of elementwise functions, and gathered channels, against each step computed plainly, in
// every layout and on any number of threads.

namespace {

std::vector<float> random_numbers(const Shape& shape, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> values(static_cast<size_t>(shape.elements()));
  for (float& v : values) {  // what binary16 holds exactly
    v = half_to_float(float_to_half(static_cast<float>(random() % 4001) / 500 - 4));
  }
  return values;
}

struct Input {
  Shape shape;
  std::vector<float> values;
};

// The layer's result in row-major order, and its bytes.
struct Output {
  std::vector<float> values;
  std::vector<uint8_t> bytes;
};

Output run_as(const char* type, const json& params, const std::vector<Input>& inputs,
              const TensorDesc& form, Layout layout, ElementType element) {
  std::vector<std::vector<uint8_t>> memories;
  std::vector<TensorDesc> descs;
  std::vector<ConstTensorView> views;
  for (const Input& input : inputs) {
    descs.push_back({element, input.shape.rank == 4 ? layout : Layout::kNchw, input.shape});
    memories.emplace_back(static_cast<size_t>(descs.back().bytes()));
    write_nchw(input.values.data(), {descs.back(), memories.back().data()});
  }
  for (size_t i = 0; i < inputs.size(); ++i) views.push_back({descs[i], memories[i].data()});
  Output out;
  out.bytes.resize(static_cast<size_t>(form.bytes()));
  auto layer = test::create_layer(type, params, descs, {&form, 1});
  ck_assert_msg(layer.ok(), "%s", layer.ok() ? "" : layer.error().message.c_str());
  const TensorView view = {form, out.bytes.data()};
  ck_assert(layer.value()->run(views, {&view, 1}).ok());
  out.values.resize(static_cast<size_t>(form.shape.elements()));
  read_nchw({form, out.bytes.data()}, out.values.data());
  return out;
}

// Pieces in the opposite order, every other one on another thread.
void share_backwards(int count, void (*call)(void*, int), void* work) {
  std::thread other([&] {
    for (int i = count - 1; i >= 0; i -= 2) call(work, i);
  });
  for (int i = count - 2; i >= 0; i -= 2) call(work, i);
  other.join();
}

// The chain sigmoid(x) * y + gate[c] * scale[c], at least -1: each kind of operand.
const json kChain = {{"inputs", 3},
                     {"constants", {json::array(), {-1.0f}}},
                     {"steps",
                      {{{"function", "sigmoid"}, {"of", {0}}},
                       {{"function", "mul"}, {"of", {5, 1}}},
                       {{"function", "mul"}, {"of", {2, 3}}},
                       {{"function", "add"}, {"of", {6, 7}}},
                       {{"function", "max"}, {"of", {8, 4}}}}}};

struct Case {
  json params = kChain;
  std::vector<Input> inputs;
  std::vector<double> wanted;
};

Case make_case(int channels, int h, int w) {
  const Shape whole = {1, channels, h, w}, gate = {1, channels, 1, 1};
  Case c;
  c.inputs = {{whole, random_numbers(whole, 1)},
              {whole, random_numbers(whole, 2)},
              {gate, random_numbers(gate, 3)}};
  const std::vector<float> scale = random_numbers(gate, 4);
  c.params["constants"][0] = scale;
  const size_t plane = static_cast<size_t>(h) * static_cast<size_t>(w);
  for (size_t i = 0; i < c.inputs[0].values.size(); ++i) {
    const double x = static_cast<double>(c.inputs[0].values[i]);
    const double y = static_cast<double>(c.inputs[1].values[i]);
    const double g = static_cast<double>(c.inputs[2].values[i / plane]);
    const double s = static_cast<double>(scale[i / plane]);
    c.wanted.push_back(std::fmax(y / (1 + std::exp(-x)) + g * s, -1));
  }
  return c;
}

// A result of FP32 operations on numbers below 20, rounded to binary16 (11 bits) if it is one.
double slack(double wanted, ElementType type) {
  const double sums = 40 * std::ldexp(1.0, -23);
  return sums + (type == ElementType::kFloat16 ? std::fabs(wanted) * std::ldexp(1.0, -11) : 0);
}

}  // namespace

DVNN_TEST(chains_compute_what_their_steps_mean) {
  for (int channels : {1, 3, 8, 12, 16, 20, 33}) {
    for (int side : {1, 7, 40}) {
      const Case c = make_case(channels, side, side + 3);
      for (Layout layout : {Layout::kNchw, Layout::kWhc8, Layout::kHwc8, Layout::kNhwc}) {
        for (ElementType type : {ElementType::kFloat16, ElementType::kFloat32}) {
          for (Layout made : {layout, Layout::kNchw}) {
            const TensorDesc form = {type, made, c.inputs[0].shape};
            const Output alone = run_as("Elementwise", c.params, c.inputs, form, layout, type);
            for (size_t i = 0; i < c.wanted.size(); ++i) {
              const double have = static_cast<double>(alone.values[i]);
              ck_assert_msg(std::fabs(have - c.wanted[i]) <= slack(c.wanted[i], type),
                            "%d channels, layout %s: element %zu is %g, not %g", channels,
                            to_string(layout), i, have, c.wanted[i]);
            }
            const SharedThreads shared(share_backwards);
            ck_assert(run_as("Elementwise", c.params, c.inputs, form, layout, type).bytes ==
                      alone.bytes);
          }
        }
      }
    }
  }
}

DVNN_TEST(operands_of_other_shapes_are_refused) {
  const Shape whole = {1, 4, 2, 2};
  const TensorDesc x = {ElementType::kFloat32, Layout::kNchw, whole};
  const TensorDesc odd = {ElementType::kFloat32, Layout::kNchw, {1, 3, 1, 1}};
  const json two = {{"inputs", 2}, {"steps", {{{"function", "add"}, {"of", {0, 1}}}}}};
  const std::vector<TensorDesc> descs = {x, odd};
  const auto refused = test::create_layer("Elementwise", two, descs, {&x, 1});
  ck_assert(!refused.ok());
  dvnn_assert_text(refused.error().message,
                   "Elementwise: the input 1x3x1x1 does not repeat to 1x4x2x2");
}

DVNN_TEST(malformed_chains_are_refused) {
  const struct {
    json params;
    const char* says;
  } kBad[] = {
      {{{"inputs", 1}, {"steps", json::array()}}, "steps"},
      {{{"inputs", 9}, {"steps", {{{"function", "abs"}, {"of", {0}}}}}}, "inputs"},
      {{{"inputs", 1}, {"steps", {{{"function", "abs"}, {"of", {1}}}}}}, "of"},
      {{{"inputs", 1}, {"steps", {{{"function", "add"}, {"of", {0}}}}}}, "of"},
      {{{"inputs", 1}, {"steps", {{{"function", "shout"}, {"of", {0}}}}}}, "shout"},
      {{{"inputs", 1}, {"constants", 3}, {"steps", {{{"function", "abs"}, {"of", {0}}}}}},
       "constants"},
  };
  for (const auto& bad : kBad) {
    const auto parsed = parse_layer("Elementwise", bad.params);
    ck_assert(!parsed.ok());
    ck_assert_msg(parsed.error().message.find(bad.says) != std::string::npos, "%s",
                  parsed.error().message.c_str());
  }
}

// Passes that make chains rely on the struct's limits: chains within them run, and files with
// longer ones are refused.
DVNN_TEST(chains_may_be_as_long_as_they_say) {
  using Limits = ElementwiseAttributes;
  const size_t constants = Limits::kMostValues - Limits::kMostInputs - Limits::kMostSteps;
  const auto chain = [&](size_t more) {
    json params = {{"inputs", Limits::kMostInputs}, {"steps", json::array()}};
    params["constants"] = json::array();
    for (size_t i = 0; i < constants + more; ++i) params["constants"].push_back({1.0f});
    size_t last = 0;
    for (size_t i = 0; i < Limits::kMostSteps; ++i) {  // each adds another input, and again
      params["steps"].push_back(
          {{"function", "add"}, {"of", {last, (i + 1) % Limits::kMostInputs}}});
      last = Limits::kMostInputs + constants + more + i;
    }
    return params;
  };
  const Shape shape = {1, 2, 1, 3};
  std::vector<Input> inputs;
  for (size_t i = 0; i < Limits::kMostInputs; ++i) {
    inputs.push_back({shape, std::vector<float>(6, static_cast<float>(1 << i))});
  }
  const TensorDesc form = {ElementType::kFloat32, Layout::kNchw, shape};
  const Output made =
      run_as("Elementwise", chain(0), inputs, form, Layout::kNchw, ElementType::kFloat32);
  // All inputs twice, and the first a third time.
  for (float value : made.values) ck_assert_float_eq(value, 2 * 255 + 1);
  const auto longer = parse_layer("Elementwise", chain(1));
  ck_assert(!longer.ok());
  ck_assert_msg(longer.error().message.find("more than 24 values") != std::string::npos, "%s",
                longer.error().message.c_str());
}

DVNN_TEST(channels_are_gathered_as_they_are) {
  for (int first : {5, 8, 24}) {
    for (int second : {1, 16}) {
      for (int taken : {1, 8, 13, 32}) {
        std::mt19937 random(static_cast<unsigned>(first * 100 + second + taken));
        const Shape a = {1, first, 9, 5}, b = {1, second, 9, 5}, made = {1, taken, 9, 5};
        const std::vector<Input> inputs = {{a, random_numbers(a, 1)}, {b, random_numbers(b, 2)}};
        json params = {{"inputs", json::array()}, {"channels", json::array()}};
        std::vector<float> wanted;
        for (int i = 0; i < taken; ++i) {
          const size_t from = random() % 2;
          const size_t channel = random() % static_cast<unsigned>(inputs[from].shape.c());
          params["inputs"].push_back(from);
          params["channels"].push_back(channel);
          const auto begin = inputs[from].values.begin() + static_cast<long>(channel * 45);
          wanted.insert(wanted.end(), begin, begin + 45);
        }
        for (Layout layout : {Layout::kNchw, Layout::kWhc8, Layout::kHwc8}) {
          for (Layout to : {layout, Layout::kNchw}) {
            const TensorDesc form = {ElementType::kFloat16, to, made};
            const Output alone =
                run_as("ChannelGather", params, inputs, form, layout, ElementType::kFloat16);
            ck_assert(alone.values == wanted);
            const SharedThreads shared(share_backwards);
            ck_assert(run_as("ChannelGather", params, inputs, form, layout, ElementType::kFloat16)
                          .bytes == alone.bytes);
          }
        }
      }
    }
  }
}

DVNN_TEST(channels_that_do_not_exist_are_refused) {
  const Shape in = {1, 4, 2, 2}, out = {1, 1, 2, 2};
  const TensorDesc x = {ElementType::kFloat16, Layout::kWhc8, in};
  const TensorDesc y = {ElementType::kFloat16, Layout::kWhc8, out};
  for (const auto& [input, channel] : {std::pair(0, 4), std::pair(1, 0)}) {
    const json params = {{"inputs", {input}}, {"channels", {channel}}};
    ck_assert(!test::create_layer("ChannelGather", params, {&x, 1}, {&y, 1}).ok());
  }
}

}  // namespace dvnn::test::elementwise_layer_tests
