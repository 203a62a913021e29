// SPDX-License-Identifier: Apache-2.0
// Constants of ONNX files: the types of their numbers, and what is computed of them while the model
// is read.
#include <string>
#include <tuple>
#include <vector>

#include "onnx_fixture.h"
#include "run_model.h"

namespace dvnn::test::onnx_constants_tests {

DVNN_SUITE(import_onnx_constants);

// The same quotient of all types that constants have; only whole numbers divide without a rest.
DVNN_TEST(constants_of_all_types_divide) {
  constexpr int kFloat = 1, kInt32 = 6, kHalf = 10, kDouble = 11, kBfloat = 16;
  for (const int type : {kFloat, kInt32, kHalf, kDouble, kBfloat}) {
    OnnxModel m({1, 2});
    for (const auto& [name, value, half, bfloat] :
         {std::tuple{"a", 7, 0x4700, 0x40e0}, {"b", 2, 0x4000, 0x4000}}) {
      onnx::TensorProto* tensor = m.graph().add_initializer();
      tensor->set_name(name);
      tensor->set_data_type(type);
      if (type == kFloat) tensor->add_float_data(static_cast<float>(value));
      if (type == kInt32) tensor->add_int32_data(value);
      if (type == kHalf) tensor->add_int32_data(half);
      if (type == kBfloat) tensor->add_int32_data(bfloat);
      if (type == kDouble) tensor->add_double_data(value);
    }
    m.node("Div", {"a", "b"}, {"q"}).node("Cast", {"q"}, {"k"}).set("to", kFloat);
    m.node("Mul", {"x", "k"}, {"y"}).output("y");
    const float quotient = type == kInt32 ? 3 : 3.5f;
    expect_output("Div of constants", m, {1, -2}, {quotient, -2 * quotient});
  }
}

// A list of 32-bit numbers may have values that an 8-bit tensor cannot hold.
DVNN_TEST(numbers_that_a_type_does_not_have_are_refused) {
  constexpr int kUint8 = 2, kInt8 = 3, kInt16 = 5, kUint32 = 12;
  const struct {
    int type;
    int64_t good, bad;
  } cases[] = {{kUint8, 255, -1},
               {kUint8, 0, 256},
               {kInt8, -128, 128},
               {kInt16, 32767, -32769},
               {kUint32, 4294967295, 4294967296}};
  for (const auto& c : cases) {
    for (const int64_t value : {c.good, c.bad}) {
      OnnxModel m({1, 2});
      onnx::TensorProto* tensor = m.graph().add_initializer();
      tensor->set_name("k");
      tensor->set_data_type(c.type);
      if (c.type == kUint32) {
        tensor->add_uint64_data(static_cast<uint64_t>(value));
      } else {
        tensor->add_int32_data(static_cast<int32_t>(value));
      }
      m.node("Cast", {"k"}, {"f"}).set("to", 1).node("Mul", {"x", "f"}, {"y"}).output("y");
      const auto made = convert_model(m);
      ck_assert_msg(made.ok() == (value == c.good), "%d: %lld", c.type,
                    static_cast<long long>(value));
      const std::string why = "holds " + std::to_string(value) + ", which its type does not have";
      if (!made.ok()) expect_refused(made, {"'k'", why.c_str()});
    }
  }
}

// Two numbers a byte, the first one in the lower half; a list has a byte in each of its numbers. Of
// five numbers, half of the last byte means nothing.
DVNN_TEST(numbers_of_four_bits_are_two_in_a_byte) {
  constexpr int kUint4 = 21, kInt4 = 22;
  const std::string bytes = "\x70\x8f\xe9";
  const struct {
    int type;
    std::vector<float> numbers;
  } cases[] = {{kUint4, {0, 7, 15, 8, 9}}, {kInt4, {0, 7, -1, -8, -7}}};
  for (const auto& c : cases) {
    for (const bool raw : {true, false}) {
      for (const size_t count : {5U, 7U}) {
        OnnxModel m({1, static_cast<int64_t>(count)}, 21);
        onnx::TensorProto* tensor = m.graph().add_initializer();
        tensor->set_name("k");
        tensor->set_data_type(c.type);
        tensor->add_dims(static_cast<int64_t>(count));
        if (raw) tensor->set_raw_data(bytes);
        for (const char byte : bytes) {
          if (!raw) tensor->add_int32_data(static_cast<unsigned char>(byte));
        }
        m.floats("scale", {0.5f}).node("DequantizeLinear", {"k", "scale"}, {"f"});
        m.node("Add", {"x", "f"}, {"y"}).output("y");
        if (count == 7) {
          expect_refused(convert_model(m), {"'k'", "has 3 bytes, its 7 elements of 4 bits need 4"});
          continue;
        }
        std::vector<float> want;
        for (const float number : c.numbers) want.push_back(number / 2 + 1);
        expect_output("DequantizeLinear", m, std::vector<float>(count, 1.0f), want);
      }
    }
  }
}

// What constants alone decide is computed while the model is read: `k`, which is added to zeros.
static void expect_folded(const char* what, OnnxModel m, const std::vector<float>& want) {
  m.node("Cast", {"k"}, {"f"}).set("to", 1).node("Add", {"x", "f"}, {"y"}).output("y");
  expect_output(what, m, std::vector<float>(want.size(), 0.0f), want);
}

// Large weights become numbers at the first node of the graph that reads them, and are forgotten
// after the last one; old files name them among the inputs. Each product moves all numbers by a
// place.
DVNN_TEST(large_weights_are_there_for_each_node_that_reads_them) {
  constexpr size_t kSize = 128;
  for (const bool is_input : {false, true}) {
    OnnxModel m({1, kSize});
    onnx::TensorProto* tensor = m.graph().add_initializer();
    tensor->set_name("w");
    tensor->set_data_type(1);
    for (int axis = 0; axis < 2; ++axis) tensor->add_dims(kSize);
    std::vector<float> matrix(kSize * kSize);
    for (size_t i = 0; i < kSize; ++i) matrix[i * kSize + (i + 1) % kSize] = 2;
    tensor->set_raw_data(matrix.data(), matrix.size() * sizeof(float));
    if (is_input) m.graph().add_input()->set_name("w");
    m.node("Relu", {"w"}, {"unused"}).node("MatMul", {"x", "w"}, {"a"});
    m.node("MatMul", {"a", "w"}, {"b"}).node("Transpose", {"w"}, {"back"});
    m.node("MatMul", {"b", "back"}, {"c"}).node("Neg", {"w"}, {"minus"});
    m.node("MatMul", {"c", "minus"}, {"y"}).output("y");
    std::vector<float> input(kSize), want(kSize);
    for (size_t i = 0; i < kSize; ++i) input[i] = static_cast<float>(i);
    for (size_t i = 0; i < kSize; ++i) want[(i + 2) % kSize] = -16 * input[i];
    expect_output("large weights", m, input, want);
  }
}

DVNN_TEST(constants_are_computed_as_the_operators_say) {
  OnnxModel rows({2, 3}, 13);
  rows.places("a", {2, 1}, {10, 20}).ints("b", {1, 2, 3});
  OnnxModel sum = rows;
  expect_folded("Add", sum.node("Add", {"a", "b"}, {"k"}), {11, 12, 13, 21, 22, 23});
  OnnxModel less = rows;
  expect_folded("Sub", less.node("Sub", {"b", "a"}, {"k"}), {-9, -8, -7, -19, -18, -17});
  OnnxModel scalar({3}, 13);
  scalar.ints("a", {5}, true).ints("b", {1, 2, 3}).node("Mul", {"a", "b"}, {"k"});
  expect_folded("Mul", scalar, {5, 10, 15});
  OnnxModel larger({3}, 13);
  larger.ints("a", {2}).ints("b", {1, 2, 3}).node("Max", {"a", "b"}, {"m"});
  expect_folded("Max, Pow", larger.node("Pow", {"m", "a"}, {"k"}), {4, 4, 9});
  // Integers are divided towards zero, other numbers are not rounded.
  OnnxModel whole({4}, 13);
  whole.ints("a", {7, -7, 6, -1}).ints("b", {2}).node("Div", {"a", "b"}, {"k"});
  expect_folded("Div of integers", whole, {3, -3, 3, 0});
  OnnxModel parts({4}, 13);
  parts.floats("a", {7, -7, 6, -1}).floats("b", {2}).node("Div", {"a", "b"}, {"k"});
  expect_folded("Div", parts, {3.5f, -3.5f, 3, -0.5f});
  OnnxModel cut({4}, 13);
  cut.floats("a", {1.75f, -1.75f, 3, -0.5f}).node("Cast", {"a"}, {"k"}).set("to", 7);
  expect_folded("Cast", cut, {1, -1, 3, 0});
}

DVNN_TEST(constants_are_moved_as_the_operators_say) {
  const std::vector<int64_t> six = {1, 2, 3, 4, 5, 6};
  auto moved = [&](std::vector<int64_t> dims) {
    OnnxModel m(std::move(dims), 13);
    return m.places("a", {2, 3}, six);
  };
  OnnxModel picked = moved({2, 2});
  picked.ints("i", {2, -3}).node("Gather", {"a", "i"}, {"k"}).set("axis", 1);
  expect_folded("Gather", picked, {3, 1, 6, 4});
  OnnxModel table = moved({1, 2, 3});
  table.places("i", {1, 2}, {1, 0}).node("Gather", {"a", "i"}, {"k"});
  expect_folded("Gather of rows", table, {4, 5, 6, 1, 2, 3});
  expect_folded("Transpose", moved({3, 2}).node("Transpose", {"a"}, {"k"}).list("perm", {1, 0}),
                {1, 4, 2, 5, 3, 6});
  OnnxModel joined = moved({2, 4});
  joined.places("b", {2, 1}, {7, 8}).node("Concat", {"a", "b"}, {"k"}).set("axis", 1);
  expect_folded("Concat", joined, {1, 2, 3, 7, 4, 5, 6, 8});
  OnnxModel some = moved({1, 2});
  some.ints("b", {1, -1}).ints("e", {2, -4}).ints("n", {0, 1}).ints("s", {1, -2});
  expect_folded("Slice", some.node("Slice", {"a", "b", "e", "n", "s"}, {"k"}), {6, 4});
  OnnxModel steps({4}, 13);
  steps.ints("b", {7}, true).ints("e", {-4}, true).ints("s", {-3}, true);
  expect_folded("Range", steps.node("Range", {"b", "e", "s"}, {"k"}), {7, 4, 1, -2});
  OnnxModel places({2, 3}, 13);
  places.places("a", {2, 2}, {0, 4, 5, 6}).node("NonZero", {"a"}, {"k"});
  expect_folded("NonZero", places, {0, 1, 1, 1, 0, 1});
}

}  // namespace dvnn::test::onnx_constants_tests
