// SPDX-License-Identifier: Apache-2.0
// Corners of ONNX's operators that random graphs have found (tests/judge), each with the values
// that ONNX Runtime has.
#include <cmath>
#include <tuple>

#include "onnx_fixture.h"
#include "run_model.h"

namespace dvnn::test::onnx_corners_tests {

DVNN_SUITE(import_onnx_corners);

namespace {

void expect(const char* what, const OnnxModel& model, const std::vector<float>& input,
            const std::vector<float>& want, const Shape& shape) {
  network::Model made = made_of(model);
  const Shape& got = made.tensor(made.outputs[0].tensor).desc.shape;
  ck_assert_msg(got == shape, "%s: %s", what, got.to_string().c_str());
  const std::vector<float> values = run_model(what, std::move(made), input.data());
  expect_close(what, values, want.data(), want.size(), 2e-3);
}

// A known value that is as large as the input.
OnnxModel sum_with_known(std::vector<int64_t> dims, const std::vector<float>& known) {
  OnnxModel m(dims, 13);
  m.floats("k", known);
  onnx::TensorProto* tensor = m.graph().mutable_initializer(0);
  tensor->clear_dims();
  for (int64_t d : dims) tensor->add_dims(d);
  m.node("Add", {"x", "k"}, {"y"}).output("y");
  return m;
}

}  // namespace

DVNN_TEST(a_command_reads_what_is_known) {
  const std::vector<float> input = rising(3 * 16), known(input.rbegin(), input.rend());
  std::vector<float> want = input;
  for (size_t i = 0; i < want.size(); ++i) want[i] += known[i];
  expect("a known picture", sum_with_known({1, 3, 4, 4}, known), input, want, {1, 3, 4, 4});
}

// The importer computes what depends on constants alone in a graph of its own.
DVNN_TEST(what_is_known_is_computed_where_the_model_reads_it_too) {
  OnnxModel m({1, 2, 3}, 13);
  m.ints("k_dims", {1, 2, 3}).ints("w_dims", {3, 2});
  m.floats("a", {1, 2, 3, 4, 5, 6}).node("Reshape", {"a", "k_dims"}, {"k"});
  m.floats("b", {1, 0, 0, 1, 1, 1}).node("Reshape", {"b", "w_dims"}, {"w"});
  m.node("Add", {"x", "k"}, {"s"}).node("MatMul", {"k", "w"}, {"p"});
  m.node("MatMul", {"s", "w"}, {"q"}).node("Sub", {"q", "p"}, {"y"}).output("y");
  expect("both", m, {7, 8, 9, 1, 2, 4}, {16, 17, 5, 6}, {1, 2, 2});
}

DVNN_TEST(several_pictures_are_added) {
  const std::vector<float> input = rising(2 * 12), known(input.rbegin(), input.rend());
  std::vector<float> want = input;
  for (size_t i = 0; i < want.size(); ++i) want[i] += known[i];
  expect("two pictures", sum_with_known({2, 3, 2, 2}, known), input, want, {2, 3, 2, 2});
}

DVNN_TEST(a_wider_constant_makes_a_wider_result) {
  OnnxModel m({1, 3, 2, 2}, 13);
  m.floats("k", {2});
  for (int i = 0; i < 4; ++i) m.graph().mutable_initializer(0)->add_dims(1);
  m.node("Mul", {"k", "x"}, {"y"}).output("y");
  const std::vector<float> input = rising(12);
  std::vector<float> want = input;
  for (float& v : want) v *= 2;
  expect("five dimensions", m, input, want, {1, 1, 3, 2, 2});
}

DVNN_TEST(a_vector_times_a_matrix_is_a_vector) {
  OnnxModel m({3}, 13);
  m.floats("w", {1, 2, 3, 4, 5, 6});
  onnx::TensorProto* tensor = m.graph().mutable_initializer(0);
  tensor->clear_dims();
  tensor->add_dims(3);
  tensor->add_dims(2);
  m.node("MatMul", {"x", "w"}, {"y"}).output("y");
  expect("a vector", m, {1, 2, 3}, {22, 28}, {2});
}

DVNN_TEST(averages_count_uneven_pads) {
  OnnxModel m({1, 1, 2, 2}, 13);
  m.node("AveragePool", {"x"}, {"y"}).list("kernel_shape", {2, 2}).list("pads", {0, 0, 1, 1});
  m.set("count_include_pad", 1).output("y");
  expect("pads behind", m, {4, 8, 12, 16}, {10, 6, 7, 4}, {1, 1, 2, 2});
  OnnxModel before({1, 1, 2, 2}, 13);
  before.node("AveragePool", {"x"}, {"y"}).list("kernel_shape", {2, 2}).list("pads", {1, 1, 0, 0});
  before.set("count_include_pad", 1).output("y");
  expect("pads in front", before, {4, 8, 12, 16}, {1, 3, 4, 10}, {1, 1, 2, 2});
  // Larger than the device's windows.
  OnnxModel large({1, 1, 9, 9}, 13);
  large.node("AveragePool", {"x"}, {"y"}).list("kernel_shape", {9, 9}).list("pads", {0, 0, 1, 1});
  large.set("count_include_pad", 1).output("y");
  expect("a large window", large, std::vector<float>(81, 81.0f), {81, 72, 72, 64}, {1, 1, 2, 2});
}

DVNN_TEST(a_step_beyond_the_axis_takes_one) {
  for (int64_t step : {int64_t{7}, INT64_MAX}) {
    OnnxModel m({2, 3}, 13);
    m.ints("b", {1}).ints("e", {3}).ints("a", {1}).ints("s", {step});
    m.node("Slice", {"x", "b", "e", "a", "s"}, {"y"}).output("y");
    expect("forwards", m, {1, 2, 3, 4, 5, 6}, {2, 5}, {2, 1});
  }
  OnnxModel m({1, 3}, 13);
  m.ints("b", {0}).ints("e", {-2}).ints("a", {0}).ints("s", {-3});
  m.node("Slice", {"x", "b", "e", "a", "s"}, {"y"}).output("y");
  expect("backwards", m, {1, 2, 3}, {1, 2, 3}, {1, 3});
}

// The driver refuses a pooling's window that is larger than what the convolution before it reads.
DVNN_TEST(a_pooling_is_wider_than_what_the_convolution_reads) {
  OnnxModel m({1, 1, 1, 2}, 13);
  m.floats("w", {1, 2, 3, 4});
  onnx::TensorProto* tensor = m.graph().mutable_initializer(0);
  tensor->clear_dims();
  for (int64_t d : {1, 1, 2, 2}) tensor->add_dims(d);
  m.node("ConvTranspose", {"x", "w"}, {"c"}).list("strides", {2, 2});
  m.node("MaxPool", {"c"}, {"y"}).list("kernel_shape", {2, 2}).list("strides", {2, 2}).output("y");
  expect("a pooling", m, {1, 2}, {4, 8}, {1, 1, 1, 2});
}

// Since opset 7 a list of slopes is that of the columns, as numpy broadcasts; where there are as
// many channels, too.
DVNN_TEST(slopes_belong_to_columns) {
  for (int opset : {6, 13}) {
    OnnxModel m({1, 2, 2, 2}, opset);
    m.floats("s", {0.5f, 2}).node("PRelu", {"x", "s"}, {"y"}).output("y");
    const std::vector<float> by_columns = {-1, -8, -3, 8, 5, -12, -7, -16};
    const std::vector<float> by_channels = {-1, -2, -3, 8, 5, -12, -28, -16};
    const std::vector<float> input = {-2, -4, -6, 8, 5, -6, -14, -8};
    expect("slopes", m, input, opset < 7 ? by_channels : by_columns, {1, 2, 2, 2});
  }
}

DVNN_TEST(what_has_no_length_is_not_divided_by_it) {
  OnnxModel m({2, 2}, 13);
  m.node("LpNormalization", {"x"}, {"y"}).set("axis", 1).output("y");
  expect("lengths", m, {0, 0, 3, -4}, {0, 0, 0.6f, -0.8f}, {2, 2});
}

// e to the 255th is no 32-bit number, and neither e to the 88th nor what a convolution makes of it
// is one that a power of two brings into 16 bits: nothing would be left of an input that is as the
// model wants it.
DVNN_TEST(what_a_made_up_picture_overflows_is_left_alone) {
  OnnxModel m({1, 3, 4, 4}, 13);
  m.floats("w", {1, 1, 1});
  onnx::TensorProto* tensor = m.graph().mutable_initializer(0);
  tensor->clear_dims();
  for (int64_t d : {1, 3, 1, 1}) tensor->add_dims(d);
  m.node("Exp", {"x"}, {"e"}).node("Conv", {"e", "w"}, {"y"}).output("y");
  const std::vector<float> input = rising(48);
  std::vector<float> want(16, 0.0f);
  for (size_t i = 0; i < input.size(); ++i) want[i % 16] += std::exp(input[i]);
  expect("powers of e", m, input, want, {1, 1, 4, 4});
}

DVNN_TEST(a_number_without_dimensions_is_one_place) {
  OnnxModel m({4}, 13);
  m.node("ReduceMax", {"x"}, {"most"}).set("keepdims", 0);
  m.floats("table", {1, 2, 3, 4, 5, 6});
  m.graph().mutable_initializer(0)->clear_dims();
  for (const int d : {3, 2}) m.graph().mutable_initializer(0)->add_dims(d);
  m.node("Gather", {"table", "most"}, {"row"}).output("row");
  expect("a row", m, {0, 2, 1, 0}, {5, 6}, {2});
}

DVNN_TEST(pixels_are_counted_from_the_corner) {
  // tf_half_pixel_for_nn, of opset 11: (i + 0.5) / scale, of which TensorFlow's neighbours are
  // rounded down. Without the half pixel that half_pixel takes off again.
  for (const auto& [mode, count, want] :
       {std::tuple("nearest", 2, std::vector<float>{1, 1, 3, 3, 5, 5, 9, 9}),
        std::tuple("nearest", 3, std::vector<float>{1, 1, 1, 3, 3, 3, 5, 5, 5, 9, 9, 9}),
        std::tuple("linear", 2, std::vector<float>{1.5f, 2.5f, 3.5f, 4.5f, 6, 8, 9, 9})}) {
    OnnxModel m({1, 1, 1, 4}, 11);
    m.floats("roi", {})
        .floats("s", {1, 1, 1, float(count)})
        .node("Resize", {"x", "roi", "s"}, {"y"});
    m.set("mode", mode).set("coordinate_transformation_mode", "tf_half_pixel_for_nn");
    m.set("nearest_mode", "floor");
    expect(mode, m.output("y"), {1, 3, 5, 9}, want, {1, 1, 1, 4 * count});
  }
  // Repetition in both directions is the device's.
  OnnxModel m({1, 1, 2, 2}, 11);
  m.floats("roi", {}).floats("s", {1, 1, 2, 2}).node("Resize", {"x", "roi", "s"}, {"y"});
  m.set("mode", "nearest").set("coordinate_transformation_mode", "tf_half_pixel_for_nn");
  m.set("nearest_mode", "floor");
  expect("Resize", m.output("y"), {1, 2, 3, 4}, {1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 4, 4, 3, 3, 4, 4},
         {1, 1, 4, 4});
}

// Whole numbers divide without a rest, also by a known number, and whatever they went through.
DVNN_TEST(whole_numbers_divide_without_a_rest) {
  const std::vector<float> input = {3.7f, -3.7f, 5.2f, -1.2f};
  struct Case {
    const char* through;
    std::vector<float> want;
  };
  for (const Case& c : {Case{"", {1, -1, 2, 0}},
                        {"Abs", {1, 1, 2, 0}},
                        {"Relu", {1, 0, 2, 0}},
                        {"Resize", {1, -1, 2, 0}},
                        {"CastLike", {1, -1, 2, 0}},
                        {"ReduceMean", {1, 0, 2, 0}}}) {
    OnnxModel m({1, 1, 2, 2}, 15);
    const std::string through = c.through;
    m.ints("two", {2}).floats("scales", {1, 1, 1, 1});
    m.node("Cast", {through == "CastLike" ? "two" : "x"}, {"whole"}).set("to", 7);
    if (through == "Resize") {
      m.node("Resize", {"whole", "", "scales"}, {"same"});
    } else if (through == "CastLike") {
      m.node("CastLike", {"x", "two"}, {"same"});
    } else if (through == "ReduceMean") {
      // The mean of two neighbours, the second of which is as large or one more.
      m.ints("one", {1}).node("Abs", {"whole"}, {"a"}).node("Sub", {"a", "a"}, {"none"});
      m.node("Add", {"none", "one"}, {"ones"}).node("Div", {"whole", "two"}, {"half"});
      m.node("Add", {"half", "ones"}, {"more"}).node("Concat", {"half", "more"}, {"both"});
      m.set("axis", 1).node("ReduceMean", {"both"}, {"same"}).list("axes", {1});
    } else {
      m.node(through.empty() ? "Identity" : through, {"whole"}, {"same"});
    }
    m.node(through == "ReduceMean" ? "Identity" : "Div",
           through == "ReduceMean" ? std::vector<std::string>{"same"}
                                   : std::vector<std::string>{"same", "two"},
           {"half_of"});
    m.node("Cast", {"half_of"}, {"y"}).set("to", 1).output("y");
    expect(through.empty() ? "Div" : c.through, m, input, c.want, {1, 1, 2, 2});
  }
}

DVNN_TEST(chosen_fractions_are_no_whole_numbers) {
  OnnxModel m({4}, 13);
  m.floats("a", {0.5f, 1.5f, 2.5f, 3.5f}).floats("b", {7, 7, 7, 7}).floats("zero", {0});
  m.places("where", {4}, {1, 1, 0, 0}).node("Cast", {"where"}, {"c"}).set("to", 9);
  m.node("Where", {"c", "a", "b"}, {"k"}).node("Greater", {"x", "zero"}, {"g"});
  m.node("Where", {"c", "b", "a"}, {"other"}).node("Where", {"g", "k", "k"}, {"chosen"});
  m.node("Div", {"chosen", "other"}, {"y"}).output("y");
  expect("Where", m, {1, -1, 1, -1}, {0.5f / 7, 1.5f / 7, 2.8f, 2}, {4});
}

DVNN_TEST(what_is_not_zero_is_true) {
  OnnxModel m({4}, 13);
  m.floats("a", {0.5f, 0, -3, 1}).node("Cast", {"a"}, {"b"}).set("to", 9);
  m.node("Cast", {"b"}, {"k"}).set("to", 1).node("Mul", {"x", "k"}, {"y"}).output("y");
  expect("Cast to bool", m, {1, 2, 3, 4}, {1, 0, 3, 4}, {4});
}

DVNN_TEST(a_column_is_added_to_rows) {
  // Also where a column is as long as a row.
  OnnxModel m({2, 2}, 13);
  m.floats("b", {1, 0, 0, 1}).floats("c", {10, 20});
  m.graph().mutable_initializer(0)->clear_dims();
  m.graph().mutable_initializer(1)->clear_dims();
  for (const int d : {2, 2}) m.graph().mutable_initializer(0)->add_dims(d);
  for (const int d : {2, 1}) m.graph().mutable_initializer(1)->add_dims(d);
  m.node("Gemm", {"x", "b", "c"}, {"y"}).output("y");
  expect("Gemm", m, {1, 2, 3, 4}, {11, 12, 23, 24}, {2, 2});
}

// Each makes a number without dimensions of (4) or (1, 4), which Unsqueeze makes (1, 1).
DVNN_TEST(numbers_without_dimensions_get_new_ones) {
  const std::vector<float> input = {1, 2, 3, 4};
  for (const std::string type : {"MatMul", "Squeeze", "Einsum", "GatherND", "Reshape"}) {
    OnnxModel m({4}, 12);
    m.floats("w", {1, 1, 1, 2}).places("at", {1}, {2}).places("none", {0}, {});
    m.places("one_row", {2}, {1, 4}).node("ReduceSum", {"x"}, {"sum"}).set("keepdims", 1);
    float want = 10;
    if (type == "MatMul") {
      m.node("MatMul", {"x", "w"}, {"n"});
      want = 14;
    } else if (type == "Squeeze") {
      m.node("Unsqueeze", {"sum"}, {"matrix"}).list("axes", {0}).node("Squeeze", {"matrix"}, {"n"});
    } else if (type == "Einsum") {
      m.node("Einsum", {"x", "w"}, {"n"}).set("equation", "i,i->");
      want = 14;
    } else if (type == "GatherND") {
      m.node("GatherND", {"x", "at"}, {"n"});
      want = 3;
    } else {
      m.node("Reshape", {"sum", "none"}, {"n"});
    }
    m.node("Unsqueeze", {"n"}, {"y"}).list("axes", {0, 1}).output("y");
    expect(type.c_str(), m, input, {want}, {1, 1});
  }
  OnnxModel m({4}, 12);
  m.ints("depth", {4}).floats("values", {0, 1}).node("ArgMax", {"x"}, {"most"});
  m.set("keepdims", 0).node("OneHot", {"most", "depth", "values"}, {"y"}).output("y");
  expect("OneHot", m, {1, 5, 3, 4}, {0, 1, 0, 0}, {4});
}

DVNN_TEST(pads_take_off_more_than_a_kernel) {
  // Of a kernel of one pixel, beside which no pad is left.
  OnnxModel m({1, 1, 2, 3}, 13);
  m.floats("w", {1}).node("ConvTranspose", {"x", "w"}, {"y"}).list("strides", {2, 2});
  for (const int d : {1, 1, 1}) m.graph().mutable_initializer(0)->add_dims(d);
  m.list("pads", {0, 1, 1, 0}).output("y");
  // 1 0 2 0 3, 0, 4 0 5 0 6 before the first column and the last row go.
  expect("ConvTranspose", m, {1, 2, 3, 4, 5, 6}, {0, 2, 0, 3, 0, 0, 0, 0}, {1, 1, 2, 4});
}

DVNN_TEST(a_number_scales_an_einsum) {
  OnnxModel m({2, 2}, 12);
  m.floats("w", {1, 2, 3}).node("Einsum", {"x", "w"}, {"y"}).set("equation", "ab,z->z");
  expect("Einsum", m.output("y"), {1, 2, 3, 4}, {10, 20, 30}, {3});
}

DVNN_TEST(elements_are_groups_where_no_axis_is_named) {
  for (const auto& [type, want] : {std::pair("ReduceL1", std::vector<float>{2, 3}),
                                   {"ReduceL2", {2, 3}},
                                   {"ReduceSumSquare", {4, 9}},
                                   {"ReduceSum", {-2, 3}},
                                   {"ReduceLogSumExp", {-2, 3}}}) {
    OnnxModel m({2}, 18);
    m.node(type, {"x"}, {"y"}).set("noop_with_empty_axes", 1).output("y");
    expect(type, m, {-2, 3}, want, {2});
  }
}

DVNN_TEST(sizes_are_products_in_single_precision) {
  // 30 x 1.29999995 is 39.
  OnnxModel m({1, 1, 1, 30}, 13);
  m.floats("s", {1, 1, 1, 1.3f}).node("Resize", {"x", "", "s"}, {"y"});
  m.set("coordinate_transformation_mode", "asymmetric").set("nearest_mode", "floor");
  const std::vector<float> input = rising(30);
  std::vector<float> want;
  for (int i = 0; i < 39; ++i) want.push_back(input[static_cast<size_t>(i / 1.3)]);
  expect("Resize", m.output("y"), input, want, {1, 1, 1, 39});
}

DVNN_TEST(a_single_pixel_is_the_first) {
  // pytorch_half_pixel: 3 x 0.6 is 1.8, of which one pixel is left.
  OnnxModel m({1, 1, 1, 3}, 13);
  m.floats("s", {1, 1, 1, 0.6f}).node("Resize", {"x", "", "s"}, {"y"}).set("mode", "linear");
  m.set("coordinate_transformation_mode", "pytorch_half_pixel");
  expect("Resize", m.output("y"), {1, 2, 3}, {1}, {1, 1, 1, 1});
}

DVNN_TEST(kept_proportions_have_one_scale) {
  // Of 4 x 3 to 6 x 6 at most: 1.5, which makes 4.5 columns of 3, that is 5, the last of 2.67.
  OnnxModel m({1, 1, 4, 3}, 18);
  m.ints("sides", {6, 6}).node("Resize", {"x", "", "", "sides"}, {"y"}).set("mode", "linear");
  m.set("coordinate_transformation_mode", "asymmetric");
  m.set("keep_aspect_ratio_policy", "not_larger").list("axes", {2, 3});
  std::vector<float> input, want;
  for (int i = 0; i < 12; ++i) input.push_back(static_cast<float>(i % 3 * 3));
  for (int y = 0; y < 6; ++y) want.insert(want.end(), {0, 2, 4, 6, 6});
  expect("Resize", m.output("y"), input, want, {1, 1, 6, 5});
}

DVNN_TEST(smaller_pictures_take_the_next_pixel) {
  // Opset 10 alone: test_resize_downsample_nearest of the ONNX project, and a direction that grows.
  OnnxModel m({1, 1, 2, 4}, 10);
  m.floats("s", {1, 1, 0.6f, 0.6f}).node("Resize", {"x", "s"}, {"y"}).output("y");
  expect("smaller", m, {1, 2, 3, 4, 5, 6, 7, 8}, {1, 3}, {1, 1, 1, 2});
  OnnxModel mixed({1, 1, 2, 4}, 10);
  mixed.floats("s", {1, 1, 1.5f, 0.6f}).node("Resize", {"x", "s"}, {"y"}).output("y");
  expect("both", mixed, {1, 2, 3, 4, 5, 6, 7, 8}, {1, 3, 1, 3, 5, 7}, {1, 1, 3, 2});
}

DVNN_TEST(what_is_cut_off_is_not_repeated) {
  for (const auto& [mode, want] : {std::pair("wrap", std::vector<float>{2, 3, 4, 2, 3}),
                                   {"edge", {2, 3, 4, 4, 4}},
                                   {"reflect", {2, 3, 4, 3, 2}}}) {
    OnnxModel m({5}, 19);
    m.ints("pads", {-2, 2}).node("Pad", {"x", "pads"}, {"y"}).set("mode", mode).output("y");
    expect(mode, m, {0, 1, 2, 3, 4}, want, {5});
  }
}

// The operator's own epsilon stands beside the deviation: it does nothing to values that have one.
DVNN_TEST(small_deviations_are_brought_to_one) {
  OnnxModel m({1, 1, 2, 2}, 13);
  m.node("MeanVarianceNormalization", {"x"}, {"y"}).output("y");
  const float least = std::ldexp(1.0f, -16);
  const float unit = std::sqrt(1.25f);
  expect("small numbers", m, {least, 2 * least, 3 * least, 4 * least},
         {-1.5f / unit, -0.5f / unit, 0.5f / unit, 1.5f / unit}, {1, 1, 2, 2});
}

// As exporters leave it where a model is not told that it is trained no more: each channel by its
// own mean and variance, of which the running ones become a part.
DVNN_TEST(statistics_are_those_of_the_input_while_training) {
  OnnxModel m({1, 2, 1, 4}, 15);
  m.floats("scale", {2, 3}).floats("bias", {1, -1}).floats("mean", {10, 20});
  m.floats("variance", {100, 200});
  m.node("BatchNormalization", {"x", "scale", "bias", "mean", "variance"}, {"y", "m", "v"});
  m.set("training_mode", 1).set("epsilon", 0.0f).set("momentum", 0.75f);
  m.output("y").output("m").output("v");
  const std::vector<float> input = {1, 3, 5, 7, 2, 2, 6, 6};  // means of 4, variances of 5 and 4
  const float step = 2 / std::sqrt(5.0f);
  expect("y", m, input, {1 - 3 * step, 1 - step, 1 + step, 1 + 3 * step, -4, -4, 2, 2},
         Shape{1, 2, 1, 4});
  OnnxModel means = m, variances = m;
  means.graph().clear_output();
  expect("running mean", means.output("m"), input, {8.5f, 16}, Shape{2});
  variances.graph().clear_output();
  expect("running variance", variances.output("v"), input, {76.25f, 151}, Shape{2});
}

}  // namespace dvnn::test::onnx_corners_tests
