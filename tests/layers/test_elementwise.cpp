// SPDX-License-Identifier: Apache-2.0
// Elementwise and Where, step by step; test_elementwise_chain.cpp has chains.
#include <cmath>

#include "layer_run.h"

namespace dvnn::test::elementwise_layer_tests {

DVNN_SUITE(layers);

using namespace dvnn::layers;
using json = dvnn::Json;

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

}  // namespace dvnn::test::elementwise_layer_tests
