// SPDX-License-Identifier: Apache-2.0
// Graphs of ONNX files. Of constants: the types of their numbers, and what is computed of them
// while the model is read. Of nodes: any order, branches, and models of a batch of pictures.
#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>
#include <vector>

#include "onnx_fixture.h"
#include "run_model.h"

namespace dvnn::test::onnx_graphs_tests {

DVNN_SUITE(import_onnx_graphs);

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

namespace {

std::vector<float> result(const char* what, const OnnxModel& model, size_t inputs) {
  auto made = convert_model(model);
  ck_assert_msg(made.ok(), "%s: %s", what, made.ok() ? "" : made.error().message.c_str());
  return run_model(what, std::move(made.value()), rising(inputs).data());
}

void reverse_nodes(OnnxModel* model) {
  std::reverse(model->graph().mutable_node()->begin(), model->graph().mutable_node()->end());
}

// A branch, a shape that is computed, and a sum where ways meet again.
OnnxModel ways() {
  OnnxModel m({1, 3, 4, 4}, 13);
  m.ints("rest", {-1}).ints("first", {1});
  m.node("Relu", {"x"}, {"a"}).node("Neg", {"a"}, {"b"}).node("Exp", {"b"}, {"c"});
  m.node("Add", {"a", "c"}, {"d"}).node("Concat", {"first", "rest"}, {"dims"}).set("axis", 0);
  m.node("Reshape", {"d", "dims"}, {"y"}).output("y");
  return m;
}

// The same model for `batch` pictures: numbers of shapes are the exporter's.
OnnxModel heads(int64_t batch, const std::vector<int64_t>& split,
                const std::vector<int64_t>& joined) {
  OnnxModel m({batch, 3, 16, 16}, 13);
  m.weights("w", {8, 3, 3, 3}).ints("split", split).ints("joined", joined);
  m.node("Conv", {"x", "w"}, {"c"}).list("pads", {1, 1, 1, 1});
  m.node("Reshape", {"c", "split"}, {"s"}).node("Softmax", {"s"}, {"p"}).set("axis", 2);
  m.node("Reshape", {"p", "joined"}, {"y"}).output("y");
  return m;
}

// exp(-x) where the mean exceeds `limit`, else -x. Names of the branches are the same.
OnnxModel chosen_by_the_frame(float limit, int64_t keep) {
  OnnxModel m({1, 3, 4, 4}, 13), then({1}, 13), otherwise({1}, 13);
  then.node("Neg", {"x"}, {"a"}).node("Exp", {"a"}, {"b"}).output("b");
  otherwise.floats("c", {-1}).node("Mul", {"x", "c"}, {"a"}).output("a");
  m.floats("limit", {limit}).node("ReduceMean", {"x"}, {"mean"}).set("keepdims", keep);
  m.node("Greater", {"mean", "limit"}, {"yes"});
  m.node("If", {"yes"}, {"y"}).branch("then_branch", then.graph());
  m.branch("else_branch", otherwise.graph()).output("y");
  return m;
}

}  // namespace

DVNN_TEST(nodes_may_stand_in_any_order) {
  OnnxModel sorted = ways(), reversed = ways();
  reverse_nodes(&reversed);
  const auto want = result("sorted", sorted, 48), got = result("reversed", reversed, 48);
  ck_assert(want == got);
  ck_assert_uint_eq(got.size(), 48);
  ck_assert_float_eq_tol(got[0], 1.0f, 1e-3f);  // x = -0.75: exp(-0)
}

DVNN_TEST(nodes_of_branches_and_functions_may_stand_in_any_order) {
  OnnxModel m({1, 3, 4, 4}, 13);
  OnnxModel then({1}, 13), otherwise({1}, 13);
  // The branch's result has the name of the node's, as some exporters write it.
  then.node("Neg", {"a"}, {"b"}).node("Exp", {"b"}, {"y"}).output("y");
  otherwise.node("Neg", {"a"}, {"y"}).output("y");
  reverse_nodes(&then);
  m.integers("yes", 9, {}, {1});
  m.node("If", {"yes"}, {"y"}).branch("then_branch", then.graph());
  m.branch("else_branch", otherwise.graph());
  m.node("Relu", {"x"}, {"a"}).output("y");
  const auto got = result("branch", m, 48);
  ck_assert_float_eq_tol(got[0], 1.0f, 1e-3f);
  ck_assert_float_eq_tol(got[12], std::exp(-0.75f), 1e-3f);  // x = 0.75
}

DVNN_TEST(circles_and_what_nobody_makes_are_named) {
  OnnxModel circle({1, 3, 4, 4});
  circle.node("Add", {"x", "c"}, {"a"}).node("Neg", {"a"}, {"b"}).node("Exp", {"b"}, {"c"});
  circle.output("c");
  expect_refused(convert_model(circle), {"the nodes form a circle", "'Add_a' (Add) makes 'a'"});
  OnnxModel missing({1, 3, 4, 4});
  missing.node("Add", {"x", "ghost"}, {"y"}).output("y");
  convert::ConvertOptions options;
  options.import.width = options.import.height = 8;
  const auto refused = convert_model(missing, options);
  expect_refused(refused, {"Add_y", "reads 'ghost', which nothing in the model makes"});
  // Another size makes it no better.
  ck_assert(refused.error().message.find("--size") == std::string::npos);
}

// It cannot be known which of the two nodes was meant.
DVNN_TEST(a_name_that_two_nodes_make_is_refused) {
  OnnxModel m({1, 3, 4, 4});
  m.node("Relu", {"x"}, {"y"}).node("Neg", {"x"}, {"y"}).output("y");
  expect_refused(convert_model(m), {"two nodes make 'y'"});
}

DVNN_TEST(a_condition_is_one_value) {
  for (const std::vector<int>& values : {std::vector<int>{}, {1, 1}}) {
    OnnxModel m({1, 3, 4, 4}, 13), then({1, 1}, 13), otherwise({1, 1}, 13);
    then.node("Exp", {"x"}, {"y"}).output("y");
    otherwise.node("Neg", {"x"}, {"y"}).output("y");
    m.integers("yes", 9, {static_cast<int64_t>(values.size())}, values);
    m.node("If", {"yes"}, {"y"}).branch("then_branch", then.graph());
    m.branch("else_branch", otherwise.graph()).output("y");
    expect_refused(convert_model(m), {"'If_y'", "its condition has", "values, not one"});
  }
}

DVNN_TEST(what_the_frame_shows_chooses_a_branch) {
  const std::vector<float> x = rising(48);
  for (int64_t keep : {0, 1}) {
    const auto yes = result("then", chosen_by_the_frame(-100, keep), 48);
    const auto no = result("else", chosen_by_the_frame(100, keep), 48);
    for (size_t i : {size_t{0}, size_t{12}, size_t{47}}) {
      ck_assert_float_eq_tol(yes[i], std::exp(-x[i]), 2e-3f);
      ck_assert_float_eq_tol(no[i], -x[i], 1e-3f);
    }
  }
}

DVNN_TEST(branches_of_different_sizes_are_refused) {
  OnnxModel m({1, 3, 4, 4}, 13), then({1}, 13), otherwise({1}, 13);
  then.node("GlobalMaxPool", {"x"}, {"b"}).output("b");
  otherwise.node("Neg", {"x"}, {"b"}).output("b");
  m.node("ReduceMean", {"x"}, {"mean"}).set("keepdims", 0);
  m.floats("limit", {0}).node("Greater", {"mean", "limit"}, {"yes"});
  m.node("If", {"yes"}, {"y"}).branch("then_branch", then.graph());
  m.branch("else_branch", otherwise.graph()).output("y");
  expect_refused(convert_model(m),
                 {"'If_y'", "decides which branch", "1x3x1x1 and 1x3x4x4", "--outputs"});
  OnnxModel many({1, 3, 4, 4}, 13);
  many.floats("limit", {0}).node("Greater", {"x", "limit"}, {"yes"});
  many.node("If", {"yes"}, {"y"}).branch("then_branch", otherwise.graph());
  many.branch("else_branch", otherwise.graph()).output("y");
  expect_refused(convert_model(many), {"'If_y'", "its condition has 48 values, not one"});
}

DVNN_TEST(inputs_that_are_no_numbers_are_refused) {
  constexpr int kString = 8, kComplex = 14, kNone = 99, kBfloat16 = 16, kUint8 = 2;
  for (const int type : {kString, kComplex, kNone, kBfloat16, kUint8}) {
    OnnxModel m({1, 3, 4, 4});
    m.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(type);
    m.node("Relu", {"x"}, {"y"}).output("y");
    const auto made = convert_model(m);
    ck_assert_int_eq(made.ok(), type == kBfloat16 || type == kUint8);
    const std::string why = "input 'x' is of data type " + std::to_string(type);
    if (!made.ok()) expect_refused(made, {why.c_str()});
  }
}

DVNN_TEST(files_without_onnx_operators_are_no_networks) {
  OnnxModel trees({1, 3, 4, 4});
  trees.model.mutable_opset_import(0)->set_domain("ai.onnx.ml");
  trees.node("TreeEnsembleClassifier", {"x"}, {"y"}).output("y");
  expect_refused(convert_model(trees), {"'ai.onnx.ml'", "no neural network"});
}

DVNN_TEST(one_picture_of_a_batch_is_as_if_exported_for_one) {
  const auto want = result("one", heads(1, {1, 8, 256}, {1, -1}), 768);
  const std::pair<std::vector<int64_t>, std::vector<int64_t>> kForms[] = {
      {{4, 8, 256}, {4, 2048}}, {{4, 8, -1}, {4, -1}},  {{-1, 8, 256}, {-1, 2048}},
      {{0, 8, 256}, {0, -1}},   {{4, 4, 512}, {4, -1}}, {{4, 8, 16, 16}, {4, 2048}},
  };
  for (const auto& [split, joined] : kForms) {
    const std::vector<int64_t> one = {1, split[1] == 4 ? 4 : 8, -1};
    const auto same = split.size() == 4
                          ? result("one of four", heads(1, {1, 8, 16, 16}, {1, -1}), 768)
                          : result("one", heads(1, one, {1, -1}), 768);
    ck_assert(result("of a batch", heads(4, split, joined), 768) == same);
  }
  ck_assert_uint_eq(want.size(), 2048);
  // The batch and the channels are one dimension.
  const auto merged = convert_model(heads(4, {32, 1, 256}, {4, -1}));
  ck_assert_msg(merged.ok(), "%s", merged.ok() ? "" : merged.error().message.c_str());
}

DVNN_TEST(what_is_repeated_for_a_batch_is_there_once) {
  // A token in front of each picture's places, as transformers have it.
  auto tokens = [](int64_t batch, bool computed) {
    OnnxModel m({batch, 3, 16, 16}, 13);
    m.weights("w", {8, 3, 4, 4}).weights("token", {1, 1, 8}).ints("rows", {batch, 8, 16});
    m.ints("size", {batch, -1, -1}).ints("places", {batch, 1, 8}).ints("one", {1});
    m.node("Conv", {"x", "w"}, {"c"}).list("strides", {4, 4});
    m.node("Reshape", {"c", "rows"}, {"r"}).node("Transpose", {"r"}, {"t"}).list("perm", {0, 2, 1});
    if (computed) {
      m.node("ConstantOfShape", {"places"}, {"zeros"}).node("Add", {"zeros", "token"}, {"many"});
    } else {
      m.node("Expand", {"token", "places"}, {"many"});
    }
    m.node("Concat", {"many", "t"}, {"y"}).set("axis", 1).output("y");
    return m;
  };
  for (bool computed : {false, true}) {
    ck_assert(result("of 4", tokens(4, computed), 768) == result("of 1", tokens(1, computed), 768));
  }
}

DVNN_TEST(what_a_batch_does_not_allow_says_so) {
  OnnxModel m({4, 3, 16, 16}, 13);
  m.ints("dims", {3, 64, 16});
  m.node("Reshape", {"x", "dims"}, {"y"}).output("y");
  expect_refused(convert_model(m), {"Reshape_y", "3x64x16", "a batch of 4", "export it for one"});
}

}  // namespace dvnn::test::onnx_graphs_tests
