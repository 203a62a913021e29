// SPDX-License-Identifier: Apache-2.0
// Layer types that users declare: the file, the models that use them, the network file, the C++
// sources, and a library that runs them.
#include "caffe_fixture.h"

#include "base/json.h"
#include "emit/emit_cpp.h"
#include "import/custom_layers.h"
#include "keras_fixture.h"
#include "layers/custom_library.h"
#include "onnx_fixture.h"
#include "run_model.h"

namespace dvnn::test::custom_layers_tests {

DVNN_SUITE(import_custom_layers);

using namespace dvnn::convert;
using namespace dvnn::import;
using json = dvnn::Json;

namespace {

const std::string kSpread =
    json_text(json({{"Spread",
                     {{"params", {{"amount", "float"}, {"sizes", "int[2]"}}},
                      {"output", {"1", "c * count(sizes)", "h", "w"}}}}}));

ConvertOptions declared(const std::string& text) {
  ConvertOptions options;
  auto types = parse_custom_layers(text);
  ck_assert_msg(types.ok(), "%s", types.ok() ? "" : types.error().message.c_str());
  options.import.custom_layers = types.value();
  return options;
}

bool has(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

void refused(const char* text, const char* word) {
  const auto types = parse_custom_layers(text);
  ck_assert_msg(!types.ok() && has(types.error().message, word), "%s: %s", text,
                types.ok() ? "accepted" : types.error().message.c_str());
}

const std::vector<float> kInput = [] {
  std::vector<float> values(3 * 4 * 4);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) / 8;
  return values;
}();

// All channels times 1, then times 2.
void expect_spread(const char* what, Result<network::Model> model) {
  ck_assert_msg(model.ok(), "%s: %s", what, model.ok() ? "" : model.error().message.c_str());
  auto library = layers::CustomLibrary::open(SPREAD_MODULE);
  ck_assert(library.ok());
  const auto out = run_model(what, std::move(model.value()), kInput.data(), library.value());
  ck_assert_uint_eq(out.size(), 2 * kInput.size());
  for (size_t i = 0; i < kInput.size(); ++i) {
    ck_assert_float_eq(out[i], kInput[i]);
    ck_assert_float_eq(out[kInput.size() + i], 2 * kInput[i]);
  }
}

std::string caffe_text() {
  return network_text(3, 4, 4,
                      layer("s", "Python", "data", "s",
                            "python_param { module: 'mine' layer: 'Spread' "
                            "param_str: \"{'amount': 0.5, 'sizes': [2, 4]}\" }"));
}

}  // namespace

DVNN_TEST(expressions_are_whole_numbers) {
  const std::map<std::string, int64_t> numbers = {{"w", 38}, {"h", 19}}, counts = {{"list", 6}};
  const struct {
    const char* text;
    int64_t value;
  } good[] = {{"7", 7},          {"w*h*count(list)", 4332}, {" ( w + 1 ) / 2 - h ", 0},
              {"2 + 3 * 4", 14}, {"((((1))))", 1},          {"w / 3", 12},
              {"10 - 4 - 3", 3}, {"100 / 10 / 5", 2}};
  for (const auto& g : good) {
    const auto value = evaluate(g.text, numbers, counts);
    ck_assert_msg(value.ok() && value.value() == g.value, "%s", g.text);
  }
  const std::string deep(200, '('), product(2000, '9');
  for (const char* bad :
       {"", "w +", "w w", "depth", "count(w)", "sum(list)", "1 / 0", "(1", "1)", "3x",
        "99999999999", "2147483647 * 2", "w % 2", deep.c_str(), product.c_str()}) {
    ck_assert_msg(!evaluate(bad, numbers, counts).ok(), "'%s' was accepted", bad);
  }
}

DVNN_TEST(outputs_are_said_by_the_inputs_axes) {
  const auto types = declared(R"({"Axes": {"params": {"k": "int", "list": "int[3]"},
                            "output": ["n", "d1 * k", "h + d2", "w * count(list) - d3"]},
                   "Row": {"params": {}, "output": ["d0", "d4 * 2"]}})")
                         .import.custom_layers;
  const json values = {{"k", 5}, {"list", {1, 2, 3}}};
  const auto dims = types.at("Axes").output_dims({2, 3, 4, 6}, values);
  ck_assert_msg(dims.ok(), "%s", dims.ok() ? "" : dims.error().message.c_str());
  ck_assert(dims.value() == (std::vector<int64_t>{2, 15, 8, 12}));
  // More than four axes have no letters.
  const auto row = types.at("Row").output_dims({7, 1, 1, 1, 9}, json::object());
  ck_assert(row.ok() && row.value() == (std::vector<int64_t>{7, 18}));
  ck_assert(!types.at("Axes").output_dims({7, 1, 1, 1, 9}, values).ok());
}

DVNN_TEST(declarations_that_make_no_sense_are_refused) {
  refused("[]", "JSON object");
  refused("{", "is not JSON: line 1, column 1");
  refused(R"({"A": {"affine": [1, 2]}, "A": {"affine": [1, 3]}})",
          "line 1, column 29: 'A' stands twice");
  refused(R"({"A": 1})", "'A'");
  refused(R"({"A": {"params": {}}})", "output");
  refused(R"({"A": {"output": []}})", "output");
  refused(R"({"A": {"params": [1], "output": ["1"]}})", "params");
  refused(R"({"A": {"params": {"x": "text"}, "output": ["1"]}})", "'x'");
  refused(R"({"A": {"params": {"x": "int[0]"}, "output": ["1"]}})", "'x'");
  refused(R"({"A": {"params": {"x": "int[2"}, "output": ["1"]}})", "'x'");
  refused(R"({"A": {"parms": {"x": "int"}, "output": ["x"]}})", "'parms'");
  refused(R"({"A": {"affine": [1, 2], "output": ["c"]}})", "beside 'affine'");
  // Messages never bring this onto a terminal.
  refused(R"({"A\n": {"output": ["1"]}})", "cannot be printed");
  refused(R"({"A": {"params": {"x\u001b": "int"}, "output": ["1"]}})", "cannot be printed");
  refused(R"({"A": {"output": ["c *\n"]}})", "cannot be printed");
}

DVNN_TEST(parameters_have_their_declared_types) {
  const auto types = declared(kSpread).import.custom_layers;
  const CustomLayer& spread = types.at("Spread");
  const auto taken = spread.take_params({{"amount", 2}, {"sizes", {1, 2}}, {"other", 5}});
  ck_assert(taken.ok() && json_text(taken.value()) == R"({"amount":2.0,"sizes":[1,2]})");
  const json bad[] = {{{"amount", 2}},
                      {{"amount", "2"}, {"sizes", {1, 2}}},
                      {{"amount", 2}, {"sizes", {1, 2, 3}}},
                      {{"amount", 2}, {"sizes", {1, 0.5}}},
                      json::array()};
  for (const json& params : bad) {
    ck_assert_msg(!spread.take_params(params).ok(), "%s", json_text(params).c_str());
  }
}

DVNN_TEST(models_of_all_frameworks_may_use_them) {
  const ConvertOptions options = declared(kSpread);
  expect_spread("caffe", ModelFiles(caffe_text(), Weights().net()).convert(options));

  KerasModel keras;
  keras.layer("Spread", {{"name", "s"},
                         {"batch_input_shape", {nullptr, 4, 4, 3}},
                         {"amount", 0.5},
                         {"sizes", {2, 4}}});
  const TemporaryPath path;
  keras.write(path.path);
  expect_spread("keras", convert_keras(path.path, options, nullptr));

  OnnxModel onnx({1, 3, 4, 4});
  onnx.node("Spread", {"x"}, {"y"}).list("sizes", {2, 4}).output("y");
  auto* node = onnx.model.mutable_graph()->mutable_node(0);
  node->set_domain("mine");
  auto* amount = node->add_attribute();
  amount->set_name("amount");
  amount->set_f(0.5f);
  const TemporaryFile file(onnx.model.SerializeAsString());
  expect_spread("onnx", convert_onnx(file.path, options, nullptr));

  // Undeclared, they are refused by name.
  const auto unknown = ModelFiles(caffe_text(), Weights().net()).convert();
  ck_assert(!unknown.ok() && has(unknown.error().message, "Python"));
}

DVNN_TEST(sources_have_them_as_the_vendors_converter_writes_them) {
  const std::string text = network_text(
      3, 4, 4,
      layer("c", "Convolution", "data", "c", "convolution_param { num_output: 8 kernel_size: 1 }") +
          layer(
              "s", "Python", "c", "s",
              "python_param { layer: 'Spread' param_str: \"{'amount': 0.5, 'sizes': [2, 4]}\" }") +
          layer("d", "Convolution", "s", "d",
                "convolution_param { num_output: 8 kernel_size: 1 }"));
  const auto model = ModelFiles(text, Weights()
                                          .blob("c", {8, 3, 1, 1})
                                          .blob("c", 8)
                                          .blob("d", {8, 16, 1, 1})
                                          .blob("d", 8)
                                          .net())
                         .convert(declared(kSpread));
  ck_assert_msg(model.ok(), "%s", model.ok() ? "" : model.error().message.c_str());
  const auto sources = emit::emit_cpp(model.value());
  ck_assert_msg(sources.ok(), "%s", sources.ok() ? "" : sources.error().message.c_str());
  ck_assert(has(sources.value().header,
                "struct custom_param_Spread {\n  float amount;\n"
                "  int sizes[2];\n};"));
  ck_assert(has(sources.value().header, "void custom_callback_Spread(fpga_layer& layer"));
  ck_assert(has(sources.value().source, "custom_param = {0.5, {2,4}};"));
  ck_assert(has(sources.value().source, "layer.type = LT_CUSTOM;"));
}

// Source: dv-sdk wiki, "Runtime custom layer implementation".
DVNN_TEST(the_published_prior_box_is_declared_and_made_once) {
  const json type = {{"params",
                      {{"img_size", "int[2]"},
                       {"min_size", "int"},
                       {"max_size", "int"},
                       {"aspect_ratios", "float[6]"},
                       {"variances", "float[4]"},
                       {"clip", "bool"}}},
                     {"output", {"1", "w * h * count(aspect_ratios)", "8"}}};
  const ConvertOptions options = declared(json_text(json({{"PriorBox", type}})));
  KerasModel keras;
  keras
      .layer("Conv2D", {{"name", "c"},
                        {"batch_input_shape", {nullptr, 38, 38, 3}},
                        {"padding", "same"},
                        {"use_bias", false}})
      .layer("PriorBox", {{"name", "p"},
                          {"img_size", {300, 300}},
                          {"min_size", 10},
                          {"max_size", 30},
                          {"aspect_ratios", {1, 1, 2, 0.5, 3, 1.0 / 3}},
                          {"variances", {0.1, 0.1, 0.2, 0.2}},
                          {"clip", true}});
  keras.weights("c", "kernel:0", {1, 1, 3, 256});
  const TemporaryPath path;
  keras.write(path.path);
  const auto model = convert_keras(path.path, options, nullptr);
  ck_assert_msg(model.ok(), "%s", model.ok() ? "" : model.error().message.c_str());
  const network::Model& m = model.value();
  const auto& priors = m.tensor(m.outputs[0].tensor);
  ck_assert(priors.desc.shape == (Shape{1, 8664, 8}));
  ck_assert(priors.storage == network::Storage::kConstant);
}

}  // namespace dvnn::test::custom_layers_tests
