// SPDX-License-Identifier: Apache-2.0
// Small ONNX models on the software device against OpenCV's dnn in FP32, and what is refused.
//
// Tolerance: see test_numerics.cpp.
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <opencv2/dnn.hpp>

#include "onnx_fixture.h"
#include "run_model.h"

namespace dvnn::test::onnx_tests {

DVNN_SUITE(import_onnx);

namespace {

const std::vector<int64_t> kInput = {1, 3, 17, 23};

cv::Mat random_blob(const OnnxModel& model) {
  std::vector<int> dims;
  for (const auto& d : model.model.graph().input(0).type().tensor_type().shape().dim()) {
    dims.push_back(static_cast<int>(d.dim_value()));
  }
  cv::Mat blob(dims, CV_32F);
  cv::RNG random(7);
  random.fill(blob, cv::RNG::UNIFORM, -1.0, 1.0);
  return blob;
}

std::vector<float> converted(const char* what, const OnnxModel& model, const cv::Mat& blob,
                             bool hwc) {
  convert::ConvertOptions options;
  options.hwc = hwc;
  auto made = convert_model(model, options);
  ck_assert_msg(made.ok(), "%s: %s", what, made.ok() ? "" : made.error().message.c_str());
  return run_model(what, std::move(made.value()), blob.ptr<float>());
}

// The graph in FP32, before any pass.
std::vector<float> imported(const char* what, const OnnxModel& model, const cv::Mat& blob) {
  convert::Report report;
  ck_assert(convert_model(model, {}, &report).ok());
  return run_reference(what, *report.imported, blob.ptr<float>());
}

void compare(const char* what, const OnnxModel& model) {
  const cv::Mat blob = random_blob(model);
  const TemporaryFile file(model.model.SerializeAsString());
  cv::dnn::Net net = cv::dnn::readNetFromONNX(file.path);
  net.setPreferableBackend(cv::dnn::DNN_BACKEND_OPENCV);
  net.setInput(blob);
  const cv::Mat want = net.forward().clone();
  expect_close(what, imported(what, model, blob), want.ptr<float>(), want.total(), kFloatTolerance);
  for (bool hwc : {false, true}) {
    expect_close(what, converted(what, model, blob, hwc), want.ptr<float>(), want.total());
  }
}

// The same where OpenCV does not know the operator: against values that the test computes.
void expect(const char* what, const OnnxModel& model, const std::vector<float>& want) {
  const cv::Mat blob = random_blob(model);
  expect_close(what, converted(what, model, blob, false), want.data(), want.size());
}

OnnxModel conv(const char* output, std::vector<int64_t> input = kInput) {
  OnnxModel m(input);
  m.weights("w", {10, input[1], 3, 3}).weights("b", {10});
  m.node("Conv", {"x", "w", "b"}, {output}).list("kernel_shape", {3, 3});
  return m;
}

void refused(const OnnxModel& model, std::initializer_list<const char*> words) {
  expect_refused(convert_model(model), words);
}

}  // namespace

DVNN_TEST(convolutions_agree) {
  compare("plain", conv("y").output("y"));
  compare("strides and uneven pads",
          conv("y").list("strides", {2, 1}).list("pads", {1, 0, 2, 1}).output("y"));
  compare("same", conv("y").set("auto_pad", "SAME_UPPER").list("strides", {2, 2}).output("y"));
  compare("dilated", conv("y").list("dilations", {2, 2}).list("pads", {2, 2, 2, 2}).output("y"));
  OnnxModel groups = conv("c");
  groups.weights("g", {20, 5, 3, 3})
      .node("Conv", {"c", "g"}, {"y"})
      .list("kernel_shape", {3, 3})
      .set("group", 2)
      .output("y");
  compare("groups", groups);
  OnnxModel depthwise = conv("c");
  depthwise.weights("d", {10, 1, 3, 3})
      .node("Conv", {"c", "d"}, {"y"})
      .list("kernel_shape", {3, 3})
      .set("group", 10);
  compare("depthwise", depthwise.list("pads", {1, 1, 1, 1}).output("y"));
  OnnxModel up = conv("c");
  up.weights("t", {10, 6, 4, 4}).weights("tb", {6}).node("ConvTranspose", {"c", "t", "tb"}, {"y"});
  compare("transposed", up.list("kernel_shape", {4, 4})
                            .list("strides", {2, 2})
                            .list("pads", {1, 1, 1, 1})
                            .output("y"));
}

DVNN_TEST(activations_agree) {
  for (const char* type : {"Relu", "Sigmoid", "Tanh", "Elu", "LeakyRelu"}) {
    compare(type, conv("c").node(type, {"c"}, {"y"}).output("y"));
  }
  OnnxModel clip = conv("c");
  clip.model.mutable_opset_import(0)->set_version(9);  // OpenCV 4.6 knows the attributes alone
  compare("Clip", clip.node("Clip", {"c"}, {"y"}).set("min", 0.0f).set("max", 6.0f).output("y"));
  compare(
      "PRelu",
      conv("c").weights("s", {10, 1, 1}, 0.1f, 0.4f).node("PRelu", {"c", "s"}, {"y"}).output("y"));
  compare("SiLU",
          conv("c").node("Sigmoid", {"c"}, {"s"}).node("Mul", {"c", "s"}, {"y"}).output("y"));
}

DVNN_TEST(poolings_agree) {
  auto pool = [](const char* type, int64_t k, int64_t s) {
    OnnxModel m = conv("c");
    m.node(type, {"c"}, {"y"}).list("kernel_shape", {k, k}).list("strides", {s, s});
    return m.output("y");
  };
  compare("MaxPool", pool("MaxPool", 2, 2));
  compare("MaxPool 3", pool("MaxPool", 3, 2));
  compare("AveragePool", pool("AveragePool", 3, 2));
  compare("MaxPool 5", conv("c")
                           .node("MaxPool", {"c"}, {"y"})
                           .list("kernel_shape", {5, 5})
                           .list("pads", {2, 2, 2, 2})
                           .output("y"));
  compare("MaxPool ceil", conv("c")
                              .node("MaxPool", {"c"}, {"y"})
                              .list("kernel_shape", {2, 2})
                              .list("strides", {2, 2})
                              .set("ceil_mode", 1)
                              .output("y"));
  compare("padded average", conv("c")
                                .node("AveragePool", {"c"}, {"y"})
                                .list("kernel_shape", {3, 3})
                                .list("pads", {1, 1, 1, 1})
                                .output("y"));
  compare("global", conv("c").node("GlobalAveragePool", {"c"}, {"y"}).output("y"));
  compare("mean", conv("c")
                      .node("ReduceMean", {"c"}, {"y"})
                      .list("axes", {2, 3})
                      .set("keepdims", 0)
                      .output("y"));
}

DVNN_TEST(vectors_agree) {
  OnnxModel gemm = conv("c", {1, 3, 6, 5});
  gemm.node("Relu", {"c"}, {"r"}).node("Flatten", {"r"}, {"f"});
  gemm.weights("g", {7, 120}).weights("gb", {7});
  compare("Gemm", gemm.node("Gemm", {"f", "g", "gb"}, {"y"}).set("transB", 1).output("y"));
  OnnxModel matmul = conv("c", {1, 3, 6, 5});
  matmul.node("Flatten", {"c"}, {"f"}).weights("m", {120, 7}).weights("mb", {7});
  matmul.node("MatMul", {"f", "m"}, {"p"}).node("Add", {"p", "mb"}, {"y"});
  compare("MatMul and Add", matmul.output("y"));
}

DVNN_TEST(shapes_agree) {
  compare("transposed",
          conv("c").node("Transpose", {"c"}, {"y"}).list("perm", {0, 2, 3, 1}).output("y"));
  // The arithmetic that exporters write for view(1, -1, 5).
  OnnxModel view = conv("c");
  view.node("Transpose", {"c"}, {"t"}).list("perm", {0, 2, 3, 1});
  view.node("Shape", {"t"}, {"s"}).ints("zero", {0}, true);
  view.node("Gather", {"s", "zero"}, {"n"}).set("axis", 0);
  view.node("Unsqueeze", {"n"}, {"n1"}).list("axes", {0});
  view.ints("rest", {-1, 5}).node("Concat", {"n1", "rest"}, {"to"}).set("axis", 0);
  view.node("Reshape", {"t", "to"}, {"v"}).node("Softmax", {"v"}, {"y"}).set("axis", 2);
  compare("computed shape", view.output("y"));
  OnnxModel slice = conv("c");
  slice.ints("begin", {1, 0}).ints("end", {9, 100}).ints("a", {1, 2}).ints("st", {2, 3});
  compare("slice", slice.node("Slice", {"c", "begin", "end", "a", "st"}, {"y"}).output("y"));
  OnnxModel split = conv("c");
  split.node("Split", {"c"}, {"p", "q"}).set("axis", 1).list("split", {4, 6});
  compare("split", split.node("Concat", {"q", "p"}, {"y"}).set("axis", 1).output("y"));
  OnnxModel up = conv("c");
  up.floats("roi", {}).floats("scales", {1, 1, 2, 2});
  up.node("Resize", {"c", "roi", "scales"}, {"y"}).set("mode", "nearest");
  compare("repeated", up.set("coordinate_transformation_mode", "asymmetric")
                          .set("nearest_mode", "floor")
                          .output("y"));
  OnnxModel pad(kInput, 11);
  pad.ints("p", {0, 0, 1, 2, 0, 0, 0, 1})
      .node("Pad", {"x", "p"}, {"q"})
      .weights("w", {10, 3, 3, 3});
  compare("padded", pad.node("Conv", {"q", "w"}, {"y"}).list("kernel_shape", {3, 3}).output("y"));
}

DVNN_TEST(the_largest_are_taken_along_any_axis) {
  OnnxModel m({1, 3, 2, 2});
  m.ints("k", {2}).node("TopK", {"x", "k"}, {"y", "places"}).set("axis", 1).output("y");
  const cv::Mat blob = random_blob(m);
  std::vector<float> want(8);
  for (size_t p = 0; p < 4; ++p) {
    float column[3];
    for (size_t c = 0; c < 3; ++c) column[c] = blob.ptr<float>()[c * 4 + p];
    std::sort(column, column + 3, std::greater<float>());
    want[p] = column[0];
    want[4 + p] = column[1];
  }
  expect("TopK", m, want);
}

DVNN_TEST(pads_may_name_their_axes) {
  OnnxModel m({1, 1, 2, 2}, 18);
  m.ints("pads", {1, 0}).ints("axes", {3});
  m.node("Pad", {"x", "pads", "", "axes"}, {"y"}).output("y");
  const cv::Mat blob = random_blob(m);
  const float* x = blob.ptr<float>();
  expect("Pad", m, {0, x[0], x[1], 0, x[2], x[3]});
}

DVNN_TEST(arithmetic_agrees) {
  OnnxModel norm = conv("c");
  norm.weights("s", {10}).weights("sb", {10}).weights("m", {10}).weights("v", {10}, 0.5f, 2);
  compare("BatchNormalization",
          norm.node("BatchNormalization", {"c", "s", "sb", "m", "v"}, {"y"}).output("y"));
  OnnxModel sum = conv("c");
  sum.weights("w2", {10, 3, 3, 3}).node("Conv", {"x", "w2"}, {"d"}).list("kernel_shape", {3, 3});
  compare("Add", sum.node("Add", {"c", "d"}, {"r"}).node("Relu", {"r"}, {"y"}).output("y"));
  compare("Mul by one number",
          conv("c").floats("k", {0.3f}).node("Mul", {"c", "k"}, {"y"}).output("y"));
  OnnxModel channel = conv("c");
  channel.weights("k", {10, 1, 1}, 0.5f, 2).weights("o", {1, 10, 1, 1});
  channel.node("Div", {"c", "k"}, {"d"}).node("Sub", {"d", "o"}, {"y"});
  compare("per channel", channel.output("y"));
  compare("Exp", conv("c").node("Exp", {"c"}, {"y"}).output("y"));
}

DVNN_TEST(broadcasting_is_numpys) {
  // (1, 3, 2, 2) - (2,), then to the power of 2.
  OnnxModel m({1, 3, 2, 2});
  m.weights("w", {3, 3, 1, 1}).node("Conv", {"x", "w"}, {"c"}).list("kernel_shape", {1, 1});
  m.floats("k", {0.25f, -0.5f}).node("Sub", {"c", "k"}, {"d"});
  m.floats("two", {2}).node("Pow", {"d", "two"}, {"y"}).output("y");
  const cv::Mat blob = random_blob(m);
  const auto& w = m.model.graph().initializer(0).float_data();
  std::vector<float> want;
  for (int o = 0; o < 3; ++o) {
    for (int p = 0; p < 4; ++p) {
      float v = p % 2 ? 0.5f : -0.25f;
      for (int i = 0; i < 3; ++i) v += w.Get(o * 3 + i) * blob.ptr<float>()[i * 4 + p];
      want.push_back(v * v);
    }
  }
  expect("Sub and Pow", m, want);
}

DVNN_TEST(what_cannot_be_is_named) {
  refused(conv("c").node("NonZero", {"c"}, {"y"}).output("y"),
          {"NonZero_y", "NonZero", "opset 11", "docs/converter.md"});
  refused(OnnxModel(kInput, 99).node("Relu", {"x"}, {"y"}).output("y"), {"opset 99", "1 to 26"});
  refused(conv("c").node("Relu", {"nowhere"}, {"y"}).output("y"), {"Relu_y", "'nowhere'"});
  refused(conv("c").output("lost"), {"'lost'"});
  OnnxModel wrong(kInput);
  wrong.weights("w", {10, 4, 3, 3}).node("Conv", {"x", "w"}, {"y"}).list("kernel_shape", {3, 3});
  refused(wrong.output("y"), {"Conv_y", "weights"});
  OnnxModel large(kInput);
  large.weights("w", {1, 3, 65, 1}).node("Conv", {"x", "w"}, {"y"}).list("kernel_shape", {65, 1});
  refused(large.output("y"), {"Conv_y", "kernel", "1 to 64"});
  OnnxModel outside = conv("y").output("y");
  outside.graph().mutable_initializer(0)->clear_float_data();
  outside.graph().mutable_initializer(0)->set_data_location(1);
  refused(outside, {"'w'", "below the model's folder"});
  OnnxModel shorter = conv("y").output("y");
  shorter.graph().mutable_initializer(0)->mutable_float_data()->Truncate(5);
  refused(shorter, {"'w'", "5 numbers"});
  OnnxModel domain = conv("c").node("Relu", {"c"}, {"y"}).output("y");
  domain.graph().mutable_node(1)->set_domain("com.example");
  refused(domain, {"com.example"});
  refused(conv("c").ints("to", {0, 11, -1}).node("Reshape", {"c", "to"}, {"y"}).output("y"),
          {"Reshape_y", "elements"});
}

DVNN_TEST(open_sizes_are_asked_for) {
  OnnxModel m({1, 3, 0, 0});
  m.weights("w", {10, 3, 3, 3}).node("Conv", {"x", "w"}, {"y"}).list("kernel_shape", {3, 3});
  m.output("y");
  refused(m, {"--size"});
  convert::ConvertOptions options;
  options.import.width = 32;
  options.import.height = 24;
  auto made = convert_model(m, options);
  ck_assert(made.ok());
  const Shape& shape = made.value().tensor(made.value().outputs[0].tensor).desc.shape;
  ck_assert(shape.w() == 30 && shape.h() == 22);
}

#ifndef __SANITIZE_ADDRESS__  // which keeps what is freed
// Returns the resident memory of this process, bytes.
static int64_t resident() {
  int64_t size = 0, pages = 0;
  std::ifstream("/proc/self/statm") >> size >> pages;
  return pages * sysconf(_SC_PAGESIZE);
}

// Large models convert in the memory that their graph takes: the file's own is given back first.
DVNN_TEST(weights_are_in_memory_once_while_they_are_planned) {
  constexpr int64_t kChannels = 3072;
  constexpr int64_t kBytes = kChannels * kChannels * 4;
  OnnxModel m({1, 3, 32, 32});
  m.constant("w", {kChannels, kChannels}, 1).node("Flatten", {"x"}, {"f"});
  m.node("Gemm", {"f", "w"}, {"y"}).set("transB", 1).output("y");
  const TemporaryFile file(m.model.SerializeAsString());
  m.model.Clear();
  const int64_t before = resident();
  int64_t planning = 0;
  convert::ConvertOptions options;
  options.read_samples = [&](const Shape& shape, const InputSpec&) {
    planning = resident() - before;
    return Result<std::vector<std::vector<float>>>({std::vector<float>(shape.count())});
  };
  convert::Report report;
  report.keep_imported = false;
  ck_assert(convert::convert_onnx(file.path, options, &report).ok());
  ck_assert_int_gt(planning, kBytes / 2);
  ck_assert_int_lt(planning, kBytes * 3 / 2);
}
#endif

}  // namespace dvnn::test::onnx_tests
