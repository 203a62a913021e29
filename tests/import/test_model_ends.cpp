// SPDX-License-Identifier: Apache-2.0
// Ends of models: inputs that get their values, results that are cut away, branches that are
// decided beforehand; and models of 8 bits.
#include <cmath>
#include <map>

#include "onnx_fixture.h"
#include "run_model.h"

namespace dvnn::test::model_ends_tests {

DVNN_SUITE(import_model_ends);

namespace {

void expect(const char* what, const OnnxModel& model, const convert::ConvertOptions& options,
            const std::vector<float>& input, const std::vector<float>& want) {
  auto made = convert_model(model, options);
  ck_assert_msg(made.ok(), "%s: %s", what, made.ok() ? "" : made.error().message.c_str());
  const auto got = run_model(what, std::move(made.value()), input.data());
  expect_close(what, got, want.data(), want.size());
}

// y = x * s, with two inputs.
OnnxModel with_two_inputs() {
  OnnxModel m({1, 3, 2, 2});
  m.input("s", {1, 3, 1, -1});
  return m.node("Mul", {"x", "s"}, {"y"}).output("y");
}

convert::ConvertOptions given(const char* name, std::vector<int64_t> dims,
                              std::vector<double> values) {
  convert::ConvertOptions options;
  options.import.inputs.push_back({name, std::move(dims), std::move(values)});
  return options;
}

onnx::GraphProto branch(const char* type, const char* result) {
  onnx::GraphProto graph;
  onnx::NodeProto* node = graph.add_node();
  node->set_op_type(type);
  node->add_input("x");
  node->add_output(result);
  graph.add_output()->set_name(result);
  return graph;
}

}  // namespace

DVNN_TEST(inputs_get_values) {
  const std::vector<float> input = rising(12);
  std::vector<float> doubled = input, scaled = input;
  for (size_t i = 0; i < input.size(); ++i) {
    doubled[i] *= 2;
    scaled[i] *= static_cast<float>(i / 4 + 1);
  }
  expect("one number", with_two_inputs(), given("s", {}, {2}), input, doubled);
  expect("an array", with_two_inputs(), given("s", {1, 3, 1, 1}, {1, 2, 3}), input, scaled);
  expect_refused(convert_model(with_two_inputs()), {"2 inputs", "'x' and 's'", "--set"});
  expect_refused(convert_model(with_two_inputs(), given("s", {3}, {1, 2, 3})),
                 {"--set s", "1x3x1x?"});
  expect_refused(convert_model(with_two_inputs(), given("z", {}, {1})),
                 {"--set z", "no such input"});
}

// An input that only a dropped result needs is not required; neither are unknown operators.
DVNN_TEST(models_end_where_they_are_told_to) {
  OnnxModel m({1, 3, 2, 2});
  m.input("unused", {1, 5});
  m.node("Neg", {"x"}, {"n"}).node("NonZero", {"n"}, {"y"}).node("Relu", {"unused"}, {"u"});
  m.output("y").output("u");
  std::vector<float> want = rising(12);
  for (float& value : want) value = -value;
  convert::ConvertOptions options;
  options.import.outputs = {"n"};
  expect("by a result's name", m, options, rising(12), want);
  options.import.outputs = {"Neg_n"};
  expect("by a node's name", m, options, rising(12), want);
  options.import.outputs = {"m"};
  expect_refused(convert_model(m, options), {"--outputs m", "no such result", "'n'"});
}

DVNN_TEST(known_branches_are_taken) {
  for (int condition : {1, 0}) {
    OnnxModel m({1, 3, 2, 2});
    m.ints("condition", {condition}, true);
    m.node("If", {"condition"}, {"y"});
    m.branch("then_branch", branch("Neg", "a")).branch("else_branch", branch("Abs", "b"));
    std::vector<float> want = rising(12);
    for (float& value : want) value = condition ? -value : std::fabs(value);
    expect("a branch", m.output("y"), {}, rising(12), want);
  }
  OnnxModel m({1, 3, 2, 2});
  m.node("Relu", {"x"}, {"r"}).node("If", {"r"}, {"y"});
  m.branch("then_branch", branch("Neg", "a")).branch("else_branch", branch("Abs", "b"));
  expect_refused(convert_model(m.output("y")), {"If", "its condition has 12 values, not one"});
}

DVNN_TEST(models_of_8_bits_round_as_they_say) {
  OnnxModel m({1, 3, 2, 2});
  m.floats("scale", {0.25f}).ints("zero", {3}, true);
  m.node("QuantizeLinear", {"x", "scale", "zero"}, {"q"});
  m.node("DequantizeLinear", {"q", "scale", "zero"}, {"y"});
  for (onnx::TensorProto& tensor : *m.graph().mutable_initializer()) {
    if (tensor.name() == "scale") tensor.clear_dims();
    if (tensor.name() != "zero") continue;
    tensor.set_data_type(2);  // uint8: numbers below (0 - 3) * 0.25 are cut off
    tensor.clear_int64_data();
    tensor.add_int32_data(3);
  }
  std::vector<float> input = {-9,    -0.75f, -0.6f, -0.1f, 0,   0.125f,
                              0.13f, 0.375f, 1,     62.9f, 100, 7.8f};
  const std::vector<float> want = {-0.75f, -0.75f, -0.5f, 0, 0, 0, 0.25f, 0.5f, 1, 63, 63, 7.75f};
  expect("rounding to nearest even", m.output("y"), {}, input, want);
}

// Numbers without dimensions stay so: a list of one is joined with another list.
DVNN_TEST(products_of_shapes_are_numbers) {
  OnnxModel m({1, 3, 2, 2}, 13);
  m.ints("from", {2}).ints("to", {4}).ints("first", {0}).ints("head", {1, 3});
  m.node("Shape", {"x"}, {"shape"}).node("Slice", {"shape", "from", "to"}, {"sizes"});
  m.node("ReduceProd", {"sizes"}, {"area"}).set("keepdims", 0);
  m.node("Unsqueeze", {"area", "first"}, {"areas"});
  m.node("Concat", {"head", "areas"}, {"dims"}).set("axis", 0);
  m.node("Reshape", {"x", "dims"}, {"y"});
  expect("Reshape to a computed area", m.output("y"), {}, rising(12), rising(12));
}

// Pairs of channels are alike, and their weights in `b` all but cancel: what is left is smaller
// than what 8 bits make of such weights, and a multiple of what binary16 keeps.
DVNN_TEST(dear_layers_keep_16_bits) {
  constexpr int kChannels = 32;
  OnnxModel m({1, 3, 16, 16});
  m.weights("a", {kChannels, 3, 1, 1}).weights("b", {kChannels, kChannels, 1, 1}, 4, 7.5f);
  m.weights("c", {8, kChannels, 1, 1});
  std::map<std::string, std::vector<double>> weights;
  for (onnx::TensorProto& tensor : *m.graph().mutable_initializer()) {
    const std::string& name = tensor.name();
    for (int i = 0; i < tensor.float_data_size(); ++i) {
      float value = tensor.float_data(i);
      if (name == "a" && i / 3 % 2) value = tensor.float_data(i - 3);
      if (name == "b") value = std::round(value * 128) / 128;
      if (name == "b" && i % 2) {
        value = -tensor.float_data(i - 1) + static_cast<float>(i / 2 % 7 - 3) / 128;
      }
      tensor.set_float_data(i, value);
      weights[name].push_back(double{value});
    }
  }
  m.node("Conv", {"x", "a"}, {"ya"}).node("Conv", {"ya", "b"}, {"yb"});
  m.node("Conv", {"yb", "c"}, {"y"}).output("y");
  convert::ConvertOptions options;
  options.quantise = true;
  convert::Report report;
  auto made = convert_model(m, options, &report);
  ck_assert_msg(made.ok(), "%s", made.ok() ? "" : made.error().message.c_str());
  ck_assert_uint_eq(report.bits.samples, 1);
  ck_assert_uint_eq(report.bits.layers, 3);
  ck_assert_uint_eq(report.bits.kept, 1);
  ck_assert_double_ge(report.bits.cosine, 0.9995);
  for (const network::Step& step : made.value().steps) {
    for (const device::ConvRun& run : step.command.runs) {
      const bool bytes = run.weight_format == device::WeightFormat::kQuantised;
      ck_assert_msg(bytes == (step.name != "Conv_yb"), "%s", step.name.c_str());
    }
  }
  // And the device computes it so.
  constexpr size_t kPixels = 256;
  const std::vector<float> input = rising(3 * kPixels);
  const auto product = [](const std::vector<double>& matrix, const std::vector<double>& x) {
    std::vector<double> y(matrix.size() / x.size(), 0.0);
    for (size_t i = 0; i < matrix.size(); ++i) y[i / x.size()] += matrix[i] * x[i % x.size()];
    return y;
  };
  const auto have = run_model("16 bits", std::move(made.value()), input.data());
  double both = 0, wanted = 0, got = 0;
  for (size_t p = 0; p < kPixels; ++p) {
    const std::vector<double> x = {double{input[p]}, double{input[kPixels + p]},
                                   double{input[2 * kPixels + p]}};
    const auto y = product(weights["c"], product(weights["b"], product(weights["a"], x)));
    for (size_t k = 0; k < y.size(); ++k) {
      const double value = double{have[k * kPixels + p]};
      both += y[k] * value, wanted += y[k] * y[k], got += value * value;
    }
  }
  ck_assert_double_ge(both / std::sqrt(wanted * got), 0.999);
}

DVNN_TEST(the_first_layer_that_is_not_finite_is_told) {
  OnnxModel m({1, 3, 4, 4});
  m.weights("a", {3, 3, 1, 1}, 1.0f, 2.0f).weights("b", {3, 3, 1, 1}, 200.0f, 300.0f);
  m.weights("c", {3, 3, 1, 1}, 0.001f, 0.002f);
  m.node("Conv", {"x", "a"}, {"ya"}).node("Conv", {"ya", "b"}, {"yb"});
  m.node("Conv", {"yb", "c"}, {"y"}).output("y");
  convert::ConvertOptions options;
  options.rescale = false;
  auto made = convert_model(m, options);
  ck_assert_msg(made.ok(), "%s", made.ok() ? "" : made.error().message.c_str());
  auto network =
      network::Network::create(std::move(made.value()), device::Device::open("soft").value());
  ck_assert(network.ok());
  auto slot = network.value()->create_slot();
  ck_assert(slot.ok());
  network::Slot& s = *slot.value();
  for (const float value : {1.0f, 100.0f}) {
    const std::vector<float> input(48, value);
    write_nchw(input.data(), {network.value()->input_desc(), s.input().data()});
    const std::vector<uint8_t> bytes(s.input().begin(), s.input().end());
    auto layer = s.first_not_finite();
    ck_assert(layer.ok());
    dvnn_assert_text(layer.value(), value > 1 ? "Conv_yb" : "");
    ck_assert(std::equal(bytes.begin(), bytes.end(), s.input().begin()));
    ck_assert(s.run().ok());
    ck_assert_int_eq(s.has_finite_outputs(), value == 1);
  }
}

// What the outputs of a network without a decoder are read by.
DVNN_TEST(probabilities_get_no_softmax) {
  const auto softmax = [](int64_t classes, const char* last, bool reshaped) {
    OnnxModel m({1, 3, 4, 4});
    m.weights("w", {classes, 3, 4, 4}).node("Conv", {"x", "w"}, {"c"});
    m.list("kernel_shape", {4, 4}).node("Flatten", {"c"}, {"f"});
    const std::string made = *last ? "p" : "f";
    if (*last) m.node(last, {"f"}, {"p"});
    if (reshaped) m.ints("to", {1, -1}).node("Reshape", {made, "to"}, {"y"});
    const auto model = convert_model(m.output(reshaped ? "y" : made));
    ck_assert_msg(model.ok(), "%s", model.ok() ? "" : model.error().message.c_str());
    dvnn_assert_text(model.value().decoder.name, "classification");
    return model.value().decoder.params.at("softmax").get<bool>();
  };
  for (const bool reshaped : {false, true}) {
    ck_assert(softmax(10, "", reshaped));
    ck_assert(!softmax(10, "Softmax", reshaped));
    ck_assert(!softmax(10, "Sigmoid", reshaped));
    ck_assert(!softmax(1, "Sigmoid", reshaped));
    ck_assert(!softmax(1, "", reshaped));
  }
  OnnxModel m({1, 3, 4, 4});
  m.weights("w", {1, 3, 4, 4}).node("Conv", {"x", "w"}, {"y"}).list("kernel_shape", {4, 4});
  convert::ConvertOptions options;
  options.decoder = "classification";
  options.decoder_params = {{"score", "softmax"}};
  expect_refused(convert_model(m.output("y"), options), {"'score'", "one number"});
}

}  // namespace dvnn::test::model_ends_tests
