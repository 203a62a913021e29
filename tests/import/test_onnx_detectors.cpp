// SPDX-License-Identifier: Apache-2.0
// Detectors in the form of usual exports: metadata in the file, suppression at the end, 8 bits.
#include <algorithm>
#include <cmath>

#include "onnx_fixture.h"
#include "run_model.h"

namespace dvnn::test::onnx_detectors_tests {

DVNN_SUITE(import_onnx_detectors);

namespace {

void say(const char* key, const char* value, OnnxModel* model) {
  auto* entry = model->model.add_metadata_props();
  entry->set_key(key);
  entry->set_value(value);
}

void of_ultralytics(const char* task, OnnxModel* model) {
  say("author", "Ultralytics", model);
  say("task", task, model);
  say("imgsz", "[64, 96]", model);
  say("names", "{0: 'hat', 1: 'coat', 2: 'shoe'}", model);
}

// Seven numbers of each of 126 cells of a picture of 96x64.
OnnxModel detector(bool open = false) {
  OnnxModel m({1, 3, open ? -1 : 64, open ? -1 : 96}, 13);
  m.ints("rows", {1, 7, -1});
  for (int stride : {8, 16, 32}) {
    const std::string n = std::to_string(stride);
    m.weights("w" + n, {7, 3, stride, stride}, -0.01f, 0.01f);
    m.node("Conv", {"x", "w" + n}, {"c" + n}).list("strides", {stride, stride});
    m.node("Reshape", {"c" + n, "rows"}, {"r" + n});
  }
  m.node("Concat", {"r8", "r16", "r32"}, {"whole"}).set("axis", 2);
  return m;
}

bool told(const convert::Report& report, const char* words) {
  return std::any_of(report.warnings.begin(), report.warnings.end(), [&](const std::string& line) {
    return line.find(words) != std::string::npos;
  });
}

// Convolution of x as quantize_dynamic writes it: x -> y.
void add_dynamic(const std::string& x, const std::string& y, bool bias, OnnxModel* m) {
  m->node("DynamicQuantizeLinear", {x}, {x + "_q", x + "_s", x + "_z"});
  m->node("Mul", {x + "_s", "ws"}, {y + "_scales"});
  m->node("ConvInteger", {x + "_q", "w", x + "_z", "wz"}, {y + "_whole"});
  m->node("Cast", {y + "_whole"}, {y + "_real"}).set("to", 1);
  m->node("Mul", {y + "_real", y + "_scales"}, {bias ? y + "_scaled" : y});
  if (bias) m->node("Add", {y + "_scaled", "b"}, {y});
}

std::vector<int> bytes_of(size_t count) {
  std::vector<int> values;
  for (size_t i = 0; i < count; ++i) values.push_back(static_cast<int>(i * 37 % 256));
  return values;
}

OnnxModel dynamic_model(bool bias) {
  OnnxModel m({1, 4, 5, 6}, 13);
  m.integers("w", 2, {4, 4, 1, 1}, bytes_of(16)).integers("wz", 2, {}, {120});
  m.floats("ws", {0.01f}).weights("b", {1, 4, 1, 1});
  add_dynamic("x", "y", bias, &m);
  m.output("y");
  return m;
}

// The same in floating point.
OnnxModel float_model(bool bias) {
  OnnxModel m({1, 4, 5, 6}, 13);
  std::vector<float> weights;
  for (int v : bytes_of(16)) weights.push_back(static_cast<float>(v - 120) * 0.01f);
  m.floats("f", weights).ints("dims", {4, 4, 1, 1}).node("Reshape", {"f", "dims"}, {"w"});
  m.weights("b", {1, 4, 1, 1}).node("Conv", {"x", "w"}, {bias ? "c" : "y"});
  if (bias) m.node("Add", {"c", "b"}, {"y"});
  m.output("y");
  return m;
}

size_t steps_of(const network::Model& model) {
  return model.steps.size();
}

}  // namespace

DVNN_TEST(files_that_say_what_they_are_need_no_preset) {
  OnnxModel m = detector();
  of_ultralytics("detect", &m);
  m.output("whole");
  convert::Report report;
  const network::Model made = made_of(m, {}, &report);
  dvnn_assert_text(made.decoder.name, "boxes");
  dvnn_assert_text(made.decoder.params["box"].get<std::string>(), "center");
  ck_assert(made.labels == std::vector<std::string>({"hat", "coat", "shoe"}));
  ck_assert(made.input.picture.order == ChannelOrder::kRgb);
  ck_assert(made.input.picture.resize == ResizeRule::kLetterbox);
  ck_assert_int_eq(made.input.picture.pad_value[0], 114);
  ck_assert(told(report, "the file says what it is"));
}

DVNN_TEST(what_the_user_says_stands_above_the_file) {
  OnnxModel m = detector();
  of_ultralytics("detect", &m);
  m.output("whole");
  convert::ConvertOptions options;
  options.picture.order = ChannelOrder::kBgr;
  options.given.order = true;
  options.labels = {"a", "b", "c"};
  const network::Model made = made_of(m, options);
  ck_assert(made.input.picture.order == ChannelOrder::kBgr);
  ck_assert(made.input.picture.resize == ResizeRule::kLetterbox);
  ck_assert(made.labels == options.labels);
}

DVNN_TEST(an_open_size_is_the_one_that_was_trained) {
  OnnxModel m = detector(true);
  of_ultralytics("detect", &m);
  m.output("whole");
  const auto shape = [](const network::Model& made) {
    return made.tensor(made.input.tensor).desc.shape.to_string();
  };
  dvnn_assert_text(shape(made_of(m)), "1x3x64x96");
  convert::ConvertOptions options;
  options.import.width = options.import.height = 32;
  dvnn_assert_text(shape(made_of(m, options)), "1x3x32x32");
  // Without a given size it is unknown.
  OnnxModel silent = detector(true);
  silent.output("whole");
  expect_refused(convert_model(silent), {"--size WxH"});
}

DVNN_TEST(suppression_at_the_end_is_left_to_the_decoder) {
  OnnxModel m = detector();
  of_ultralytics("detect", &m);
  say("args", "{'nms': True}", &m);
  m.ints("parts", {4, 3}).ints("most", {10}).ints("one", {1});
  m.node("Transpose", {"whole"}, {"cells"}).list("perm", {0, 2, 1});
  m.node("Split", {"cells", "parts"}, {"boxes", "scores"}).set("axis", 2);
  m.node("Transpose", {"scores"}, {"turned"}).list("perm", {0, 2, 1});
  m.node("NonMaxSuppression", {"boxes", "turned", "most"}, {"kept"});
  m.node("GatherND", {"boxes", "kept"}, {"picked"});
  m.output("picked").output("r8");
  convert::Report report;
  const network::Model made = made_of(m, {}, &report);
  ck_assert(told(report, "cut at 'cells'"));
  ck_assert_uint_eq(made.outputs.size(), 2);
  dvnn_assert_text(made.outputs[0].name, "cells");
  dvnn_assert_text(made.outputs[1].name, "r8");
  dvnn_assert_text(made.decoder.params["box"].get<std::string>(), "corners");
  // A network end that the user gives is used.
  convert::ConvertOptions options;
  options.import.outputs = {"boxes", "scores"};
  ck_assert_uint_eq(made_of(m, options).outputs.size(), 2);
}

DVNN_TEST(suppression_without_one_result_before_it_is_refused) {
  OnnxModel m({1, 3, 8, 8}, 13);
  m.node("NonMaxSuppression", {"x", "x"}, {"y"}).output("y");
  expect_refused(convert_model(m), {"NonMaxSuppression_y", "not supported"});
}

DVNN_TEST(dynamic_quantisation_is_floating_point_by_other_means) {
  const std::vector<float> in = rising(120);
  for (bool bias : {false, true}) {
    convert::Report report;
    network::Model made = made_of(dynamic_model(bias), {}, &report);
    ck_assert(told(report, "1 convolutions and products are quantised dynamically"));
    ck_assert_uint_eq(steps_of(made), 1);
    const auto want = run_model("float", made_of(float_model(bias)), in.data());
    const auto have = run_model("dynamic", std::move(made), in.data());
    expect_close("dynamic", have, want.data(), want.size(), 1e-3);
  }
}

DVNN_TEST(numbers_that_others_read_are_rounded) {
  // The bytes are a result, too.
  OnnxModel bytes = dynamic_model(false);
  bytes.output("x_q");
  convert::Report report;
  ck_assert_uint_gt(steps_of(made_of(bytes, {}, &report)), 1);
  ck_assert(!told(report, "quantised dynamically"));
  // The scale is not the input's.
  OnnxModel scale = dynamic_model(false);
  scale.graph().mutable_node(1)->set_input(0, "ws");
  convert::Report other;
  made_of(scale, {}, &other);
  ck_assert(!told(other, "quantised dynamically"));
}

DVNN_TEST(weights_of_bytes_stay_bytes) {
  auto bytes = [](std::vector<int> values) {
    OnnxModel m({1, 64, 5, 6}, 13);
    m.integers("w", 2, {64, 64, 1, 1}, std::move(values)).integers("wz", 2, {}, {120});
    m.floats("ws", {0.01f});
    add_dynamic("x", "y", false, &m);
    m.output("y");
    return made_of(m).weights.size();
  };
  OnnxModel real({1, 64, 5, 6}, 13);
  real.weights("w", {64, 64, 1, 1}).node("Conv", {"x", "w"}, {"y"}).output("y");
  const size_t halves = made_of(real).weights.size();
  // A byte for two of each weight, and a table of 256 halves; biases are as long as before.
  const size_t biases = 64 * sizeof(half_t);
  ck_assert_uint_eq(bytes(bytes_of(4096)), (halves - biases) / 2 + 512 + biases);
}

DVNN_TEST(presets_that_read_half_of_the_outputs_are_refused) {
  // Six outputs of another family: a preset that takes three of them finds nonsense.
  OnnxModel m({1, 3, 64, 96}, 13);
  for (int stride : {8, 16, 32}) {
    const std::string n = std::to_string(stride);
    for (const char* part : {"a", "b"}) {
      const int numbers = part[0] == 'a' ? 70 : 80;
      m.weights(part + n, {numbers, 3, stride, stride}, -0.01f, 0.01f);
      m.node("Conv", {"x", part + n}, {part + ("o" + n)}).list("strides", {stride, stride});
      m.output(part + ("o" + n));
    }
  }
  convert::ConvertOptions options;
  options.preset = "yolov8-raw";
  options.decoder = "grid";
  options.decoder_params = {{"parts", {"boxes+scores"}}, {"strides", {8, 16, 32}},
                            {"box", "distribution"},     {"bins", 16},
                            {"score", "sigmoid"},        {"nms_threshold", 0.7}};
  options.labels.assign(80, "thing");
  options.preset_labels = true;
  expect_refused(
      convert_model(m, options),
      {"preset 'yolov8-raw' finds 6 classes in 3 of the network's 6 outputs", "knows 80"});
}

}  // namespace dvnn::test::onnx_detectors_tests
