// SPDX-License-Identifier: Apache-2.0
// Forms of ONNX files: what changed between opsets, data in other files, functions of the model's
// own, inputs that are no pictures, values beyond 16 bits. What operators compute is held against
// the ONNX project's own results (tests/tools/onnx_nodes.py).
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "import/onnx/import.h"
#include "onnx_fixture.h"
#include "run_model.h"

namespace dvnn::test::onnx_forms_tests {

DVNN_SUITE(import_onnx_forms);

namespace {

onnx::TensorProto* initializer(OnnxModel* model, const char* name) {
  for (onnx::TensorProto& tensor : *model->graph().mutable_initializer()) {
    if (tensor.name() == name) return &tensor;
  }
  return nullptr;
}

void lies_in(onnx::TensorProto* tensor, const std::string& location, const char* offset) {
  tensor->clear_float_data();
  tensor->set_data_location(1);
  const std::pair<const char*, std::string> entries[] = {{"location", location},
                                                         {"offset", offset}};
  for (const auto& [key, value] : entries) {
    auto* entry = tensor->add_external_data();
    entry->set_key(key);
    entry->set_value(value);
  }
}

std::string name_of(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

}  // namespace

DVNN_TEST(old_opsets_broadcast_by_axis) {
  OnnxModel m({2, 3, 2, 2}, 6);
  m.floats("k", {1, 2, 3}).node("Mul", {"x", "k"}, {"y"}).set("axis", 1).set("broadcast", 1);
  const std::vector<float> input = rising(24);
  std::vector<float> want = input;
  for (size_t i = 0; i < want.size(); ++i) want[i] *= static_cast<float>(i / 4 % 3 + 1);
  expect_output("Mul of opset 6", m.output("y"), input, want);
}

DVNN_TEST(old_opsets_reshape_by_attribute) {
  OnnxModel m({2, 6}, 4);
  m.node("Reshape", {"x"}, {"r"}).list("shape", {3, -1}).node("Neg", {"r"}, {"y"});
  const network::Model model = made_of(m.output("y"));
  const auto output = static_cast<size_t>(model.outputs[0].tensor);
  ck_assert(model.tensors[output].desc.shape == Shape({3, 4}));
}

DVNN_TEST(data_of_other_files_is_read_from_below) {
  OnnxModel m({1, 4});
  m.weights("w", {4, 2}).node("MatMul", {"x", "w"}, {"y"}).output("y");
  std::vector<float> weights = rising(8);
  const TemporaryFile data("head" + std::string(reinterpret_cast<const char*>(weights.data()),
                                                weights.size() * sizeof(float)));
  lies_in(initializer(&m, "w"), name_of(data.path), "4");
  const std::vector<float> input = {1, 0.5f, -1, 2};
  std::vector<float> want(2, 0.0f);
  for (size_t i = 0; i < 8; ++i) want[i % 2] += input[i / 2] * weights[i];
  expect_output("external data", m, input, want);
  OnnxModel shorter = m;
  initializer(&shorter, "w")->mutable_external_data(1)->set_value("8");
  expect_refused(convert_model(shorter), {"'w'", "is too short", "32 bytes from 8 on, of 36"});
  OnnxModel wrong = m;
  auto* length = initializer(&wrong, "w")->add_external_data();
  length->set_key("length");
  length->set_value("28");
  expect_refused(convert_model(wrong), {"'w'", "28 bytes, its dimensions need 32"});
  for (const char* none : {"", "4x", " 4", "0x4", "four", "99999999999999999999"}) {
    OnnxModel odd = m;
    initializer(&odd, "w")->mutable_external_data(1)->set_value(none);
    expect_refused(convert_model(odd), {"'w'", "its data's offset is '", "must be a whole number"});
  }
  for (const char* outside : {"37", "4000000000000", "-1", "-32"}) {
    OnnxModel beyond = m;
    initializer(&beyond, "w")->mutable_external_data(1)->set_value(outside);
    expect_refused(convert_model(beyond), {"'w'", "is too short"});
  }
}

static void replace_by_pipe(const std::string& path) {
  ck_assert_int_eq(unlink(path.c_str()), 0);
  ck_assert_int_eq(mkfifo(path.c_str(), 0600), 0);
}

DVNN_TEST(data_of_other_files_is_bounded_before_it_is_read) {
  constexpr int kUint8 = 2;
  constexpr int64_t kNumbers = int64_t{1} << 28;  // the most that a tensor has, and a model
  const TemporaryFile data("sparse");
  ck_assert_int_eq(truncate(data.path.c_str(), kNumbers), 0);
  OnnxModel m({1, 4});
  m.node("Neg", {"x"}, {"y"}).output("y");
  for (const char* name : {"first", "second"}) {
    onnx::TensorProto* tensor = m.graph().add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(kUint8);
    tensor->add_dims(150000000);
    lies_in(tensor, name_of(data.path), "0");
  }
  // Opening a pipe would wait, so no file is opened before all data are known to fit.
  replace_by_pipe(data.path);
  expect_refused(convert_model(m), {"the constants' numbers: 300 million", "268.4 million",
                                    "DVNN_MAX_IMPORT_NUMBERS"});
  m.graph().mutable_initializer()->RemoveLast();
  expect_refused(convert_model(m), {"'first'", "is not a regular file"});
}

DVNN_TEST(constants_that_are_computed_count_as_those_that_are_read) {
  OnnxModel m({1, 4});
  m.ints("dims", {1 << 20, 16});
  for (int i = 0; i < 40; ++i) {
    const std::string made = "made" + std::to_string(i);
    m.node("ConstantOfShape", {"dims"}, {made});
  }
  m.node("Neg", {"x"}, {"y"}).output("y");
  for (int i = 0; i < 40; ++i) m.output("made" + std::to_string(i));
  setenv("DVNN_MAX_IMPORT_NUMBERS", "50000000", 1);
  const auto model = convert_model(m);
  unsetenv("DVNN_MAX_IMPORT_NUMBERS");
  expect_refused(model, {"the constants' numbers: 50.33 million", "50 million"});
}

DVNN_TEST(messages_of_a_few_bytes_are_not_a_gigabyte) {
  OnnxModel m({1, 4});
  m.node("Neg", {"x"}, {"y"}).output("y");
  for (int i = 0; i < 50000; ++i) m.graph().add_node();
  setenv("DVNN_MAX_MESSAGE_BYTES", "4000000", 1);
  const auto bombs = convert_model(m);
  setenv("DVNN_MAX_MESSAGE_BYTES", "40000000", 1);
  const auto others = convert_model(m);  // they fit, and are refused for what they are
  unsetenv("DVNN_MAX_MESSAGE_BYTES");
  expect_refused(bombs, {"memory for its messages, at least: 3.815 MiB", "DVNN_MAX_MESSAGE_BYTES"});
  ck_assert(others.ok() || others.error().message.find("memory") == std::string::npos);
}

// What is listed is known, whether it is imported as it is or as several others.
DVNN_TEST(operators_that_are_listed_are_known) {
  const std::vector<std::string> names = import::onnx_operators();
  for (const char* name : {"Conv", "Softmax", "Resize", "LSTM", "HardSwish"}) {
    ck_assert_msg(std::count(names.begin(), names.end(), name) == 1, "%s", name);
  }
  for (const std::string& name : names) {
    OnnxModel m({1, 3, 4, 4}, 17);
    m.node(name, {"x"}, {"y"}).output("y");
    const auto made = convert_model(m);
    ck_assert_msg(
        made.ok() || made.error().message.find("the operator is not") == std::string::npos,
        "%s: %s", name.c_str(), made.error().message.c_str());
  }
}

DVNN_TEST(data_of_other_folders_is_refused) {
  const TemporaryFile elsewhere(std::string(64, '\0'));
  char folder[] = "/tmp/dvnn-folder-XXXXXX";
  ck_assert(mkdtemp(folder));
  const std::string model_path = std::string(folder) + "/m.onnx";
  const std::string link = std::string(folder) + "/link";
  ck_assert(symlink(elsewhere.path.c_str(), link.c_str()) == 0);
  const std::string locations[] = {elsewhere.path, "../" + name_of(elsewhere.path), "link",
                                   "./../" + name_of(elsewhere.path), ""};
  for (const std::string& location : locations) {
    OnnxModel m({1, 4});
    m.weights("w", {4, 2}).node("MatMul", {"x", "w"}, {"y"}).output("y");
    lies_in(initializer(&m, "w"), location, "0");
    std::ofstream(model_path, std::ios::binary) << m.model.SerializeAsString();
    expect_refused(convert::convert_onnx(model_path, {}, nullptr),
                   {"'w'", "below the model's folder"});
  }
  unlink(link.c_str());
  unlink(model_path.c_str());
  rmdir(folder);
}

DVNN_TEST(functions_of_the_model_are_expanded) {
  OnnxModel m({1, 4}, 15);
  onnx::FunctionProto* function = m.model.add_functions();
  function->set_domain("mine");
  function->set_name("Twice");
  function->add_input("a");
  function->add_output("b");
  auto* import = function->add_opset_import();
  import->set_domain("");
  import->set_version(15);
  for (const char* name : {"t", "b"}) {
    onnx::NodeProto* node = function->add_node();
    node->set_op_type("LeakyRelu");
    node->add_input(name[0] == 't' ? "a" : "t");
    node->add_output(name);
    onnx::AttributeProto* alpha = node->add_attribute();
    alpha->set_name("alpha");
    alpha->set_ref_attr_name("slope");
  }
  m.node("Twice", {"x"}, {"p"}).set("slope", 0.5f).node("Twice", {"p"}, {"y"}).set("slope", 1.0f);
  for (onnx::NodeProto& node : *m.graph().mutable_node()) node.set_domain("mine");
  expect_output("a function", m.output("y"), {1, -1, 2, -4}, {1, -0.25f, 2, -1});
  import->set_version(99);
  expect_refused(convert_model(m), {"opset 99 is not supported"});
  import->set_version(15);
  // A function that calls itself has no end.
  function->mutable_node(0)->set_op_type("Twice");
  function->mutable_node(0)->set_domain("mine");
  expect_refused(convert_model(m), {"deep"});
}

DVNN_TEST(channels_may_be_last) {
  // Turned about by the model, as tf2onnx does it: no step of it stays.
  OnnxModel m({1, 20, 24, 3}, 13);
  m.weights("w", {8, 3, 3, 3}).node("Transpose", {"x"}, {"t"}).list("perm", {0, 3, 1, 2});
  m.node("Conv", {"t", "w"}, {"y"}).output("y");
  const network::Model model = made_of(m);
  const auto input = static_cast<size_t>(model.input.tensor);
  ck_assert(model.tensors[input].desc.shape == Shape({1, 3, 20, 24}));
  ck_assert_uint_eq(model.steps.size(), 1);
  OnnxModel open({1, 0, 0, 3}, 13);
  open.weights("w", {8, 3, 3, 3}).node("Transpose", {"x"}, {"t"}).list("perm", {0, 3, 1, 2});
  open.node("Conv", {"t", "w"}, {"y"}).output("y");
  convert::ConvertOptions options;
  options.import.width = 32;
  options.import.height = 16;
  const network::Model sized = made_of(open, options);
  const auto sized_input = static_cast<size_t>(sized.input.tensor);
  ck_assert(sized.tensors[sized_input].desc.shape == Shape({1, 3, 16, 32}));
}

DVNN_TEST(numbers_of_channels_may_be_spread_over_the_picture) {
  // tf2onnx and others write PReLU's slopes so; they are the convolution's, as if they were not.
  auto made = [](bool spread, const std::vector<int64_t>& slopes) {
    OnnxModel m({1, 3, 12, 9}, 13);
    m.weights("w", {8, 3, 3, 3}).weights("s", slopes).ints("d", {1, 8, 10, 7});
    m.node("Conv", {"x", "w"}, {"c"});
    if (spread) m.node("Expand", {"s", "d"}, {"e"});
    return made_of(m.node("PRelu", {"c", spread ? "e" : "s"}, {"y"}).output("y"));
  };
  const network::Model plain = made(false, {8, 1, 1}), spread = made(true, {8, 1, 1});
  ck_assert_uint_eq(plain.steps.size(), 1);
  ck_assert_uint_eq(spread.steps.size(), 1);
  std::vector<float> input = rising(3 * 12 * 9);
  for (float& v : input) v -= 0.5f;
  const std::vector<float> want = run_model("plain", plain, input.data());
  ck_assert(run_model("spread", spread, input.data()) == want);
  // Slopes that differ within a channel stay what they are.
  for (const auto& uneven :
       {std::vector<int64_t>{8, 10, 7}, {8, 1, 7}, {8, 10, 1}, {1, 8, 10, 7}}) {
    const network::Model model = made(false, uneven);
    ck_assert_uint_gt(model.steps.size(), 1);
  }
  OnnxModel m({1, 2, 1, 2}, 13);
  m.floats("numbers", {0.5f, 0.25f, 2, 3}).ints("d", {1, 2, 1, 2});
  m.node("Reshape", {"numbers", "d"}, {"s"}).node("PRelu", {"x", "s"}, {"y"}).output("y");
  expect_output("uneven", m, {-1, -2, -3, 4}, {-0.5f, -0.5f, -6, 4});
}

DVNN_TEST(a_clip_behind_the_cpu_loads) {
  // Relu6 of what the CPU made: MobileNetV3, as torch writes it.
  OnnxModel m({1, 8, 4, 4}, 13);
  m.node("Abs", {"x"}, {"a"}).floats("lo", {0}).floats("hi", {6});
  m.node("Clip", {"a", "lo", "hi"}, {"c"}).node("Clip", {"c", "", "hi"}, {"y"}).output("y");
  std::vector<float> input = rising(128);
  for (float& v : input) v *= 10;
  std::vector<float> want;
  for (float v : input) want.push_back(std::min(std::fabs(v), 6.0f));
  expect_output("Clip", m, input, want);
}

// A spectrum in decibels, as torch writes it: nothing is 80 dB below the loudest part. The upper
// bound is infinite.
DVNN_TEST(bounds_of_a_clip_may_be_computed) {
  OnnxModel m({1, 1, 2, 4}, 13);
  m.floats("range", {80}).floats("none", {std::numeric_limits<float>::infinity()});
  m.floats("three", {3}).node("Abs", {"x"}, {"a"});
  m.node("ReduceMax", {"a"}, {"most"}).set("keepdims", 0).node("Sub", {"most", "range"}, {"least"});
  m.node("Clip", {"a", "least", "none"}, {"loud"});
  // A computed bound above, too, and one that is known below.
  m.node("Mul", {"least", "three"}, {"high"}).node("Clip", {"loud", "three", "high"}, {"y"});
  m.output("y");
  const std::vector<float> input = {1, -90, 20, 0.5f, -8, 12, -13, 7};
  expect_output("least", m, input, {10, 30, 20, 10, 10, 12, 13, 10});
}

DVNN_TEST(halves_of_pixels_are_not_repetition) {
  // floor((i + 0.5) / 2 - 0.5): the first pixel three times, the last once.
  OnnxModel m({1, 1, 1, 4}, 13);
  m.floats("s", {1, 1, 1, 2}).node("Resize", {"x", "", "s"}, {"y"});
  m.set("mode", "nearest").set("coordinate_transformation_mode", "half_pixel");
  m.set("nearest_mode", "floor");
  expect_output("Resize", m.output("y"), {1, 2, 3, 4}, {1, 1, 1, 2, 2, 3, 3, 4});
}

DVNN_TEST(the_last_part_may_be_smaller) {
  // Since opset 18: five in two parts are three and two.
  for (const bool last : {false, true}) {
    OnnxModel m({1, 5}, 18);
    m.node("Split", {"x"}, {"a", "b"}).set("axis", 1).set("num_outputs", 2);
    m.node("Neg", {last ? "b" : "a"}, {"y"}).output("y");
    const std::vector<float> want =
        last ? std::vector<float>{-4, -5} : std::vector<float>{-1, -2, -3};
    expect_output("Split", m, {1, 2, 3, 4, 5}, want);
  }
}

DVNN_TEST(numbers_that_cannot_be_are_refused) {
  OnnxModel turned({2, 3}, 13);
  turned.node("Transpose", {"x"}, {"t"}).list("perm", {1, 0});
  turned.node("Transpose", {"t"}, {"y"}).list("perm", {0, 5}).output("y");
  expect_refused(convert_model(turned), {"Transpose_y", "once"});
  const int64_t huge = INT64_MAX / 2;
  for (const char* type : {"Conv", "ConvTranspose"}) {
    for (const char* list : {"strides", "dilations", "output_padding", "output_shape"}) {
      if (std::string(type) == "Conv" && list[0] == 'o') continue;
      OnnxModel m({1, 3, 8, 8}, 13);
      m.weights("w", {3, 3, 3, 3}).node(type, {"x", "w"}, {"y"}).list(list, {huge, huge});
      expect_refused(convert_model(m.output("y")), {type, "65535"});
    }
    OnnxModel groups({1, 3, 8, 8}, 13);
    groups.weights("w", {3, 3, 3, 3}).node(type, {"x", "w"}, {"y"});
    onnx::AttributeProto* group = groups.graph().mutable_node(0)->add_attribute();
    group->set_name("group");
    group->set_i(huge);
    expect_refused(convert_model(groups.output("y")), {type, "groups"});
  }
  OnnxModel split({2, 4}, 18);
  split.node("Split", {"x"}, {"y", "z"});
  onnx::AttributeProto* parts = split.graph().mutable_node(0)->add_attribute();
  parts->set_name("num_outputs");
  parts->set_i(INT64_MAX);
  expect_refused(convert_model(split.output("y")), {"Split", "equal parts"});
}

DVNN_TEST(values_beyond_16_bits_are_kept_smaller) {
  // Twice times 1000 and back: 255 * 10^6 on the way, which a ReLU and a pooling look at.
  OnnxModel m({1, 3, 16, 16}, 13);
  const char* names[] = {"x", "a", "b", "c", "y"};
  const float factors[] = {1000, 1000, 1e-3f, 1e-3f};
  for (size_t i = 0; i < 4; ++i) {
    std::vector<float> kernel(9, 0.0f);
    for (size_t c = 0; c < 3; ++c) kernel[c * 4] = factors[i];
    const std::string weights = "w" + std::to_string(i), conv = "conv" + std::to_string(i);
    m.floats(weights, kernel);
    onnx::TensorProto* tensor = initializer(&m, weights.c_str());
    tensor->clear_dims();
    for (int64_t d : {3, 3, 1, 1}) tensor->add_dims(d);
    m.node("Conv", {names[i], weights}, {conv}).node("Relu", {conv}, {names[i + 1]});
  }
  m.output("y").output("b");
  convert::Report report;
  network::Model model = made_of(m, {}, &report);
  ck_assert_int_gt(report.rescaled, 0);
  ck_assert_float_ge(report.largest, 1e8f);
  std::vector<float> input(768);
  for (size_t i = 0; i < input.size(); ++i) input[i] = static_cast<float>(i % 256);
  const auto got = run_model("values beyond 16 bits", std::move(model), input.data());
  expect_close("values beyond 16 bits", got, input.data(), input.size());
  convert::ConvertOptions options;
  options.rescale = false;
  convert::Report plain;
  const auto as_it_is = run_model("left alone", made_of(m, options, &plain), input.data());
  ck_assert_int_eq(plain.rescaled, 0);
  ck_assert(!std::isfinite(as_it_is[255]) || as_it_is[255] < 200);
}

}  // namespace dvnn::test::onnx_forms_tests
