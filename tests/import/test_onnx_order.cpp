// SPDX-License-Identifier: Apache-2.0
// Nodes in any order, branches, and models of a batch of pictures.
#include <algorithm>
#include <cmath>

#include "onnx_fixture.h"
#include "run_model.h"

namespace dvnn::test::onnx_order_tests {

DVNN_SUITE(import_onnx_order);

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

}  // namespace dvnn::test::onnx_order_tests
