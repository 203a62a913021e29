// SPDX-License-Identifier: Apache-2.0
// Small models on the software device against OpenCV's dnn in FP32.
#include "base/format.h"
#include "compare_opencv.h"

namespace dvnn::test::numerics_tests {

DVNN_SUITE(import_numerics);

DVNN_TEST(convolutions_of_every_kind_agree) {
  compare(
      "strides and pads",
      network_text(
          3, 17, 23,
          conv("c", "data", "c",
               "num_output: 10 kernel_h: 3 kernel_w: 5 stride_h: 2 stride_w: 1 pad_h: 1 pad_w: 2")),
      Weights().blob("c", {10, 3, 3, 5}).blob("c", 10), {23, 17});
  compare("dilation",
          network_text(3, 17, 23,
                       conv("c", "data", "c", "num_output: 10 kernel_size: 3 dilation: 2 pad: 2")),
          Weights().blob("c", {10, 3, 3, 3}).blob("c", 10), {23, 17});
  compare("even kernel",
          network_text(3, 17, 23, conv("c", "data", "c", "num_output: 5 kernel_size: 4 stride: 2")),
          Weights().blob("c", {5, 3, 4, 4}).blob("c", 5), {23, 17});
  compare("groups of whole chunks",
          network_text(3, 9, 9,
                       conv("a", "data", "a", "num_output: 32 kernel_size: 1") +
                           conv("b", "a", "b", "num_output: 48 kernel_size: 3 group: 2 pad: 1") +
                           layer("r", "ReLU", "b", "b")),
          Weights().blob("a", {32, 3, 1, 1}).blob("a", 32).blob("b", {48, 16, 3, 3}).blob("b", 48),
          {9, 9});
  compare("groups",
          network_text(3, 9, 9,
                       conv("a", "data", "a", "num_output: 12 kernel_size: 1") +
                           conv("b", "a", "b", "num_output: 8 kernel_size: 3 group: 4 pad: 1")),
          Weights().blob("a", {12, 3, 1, 1}).blob("a", 12).blob("b", {8, 3, 3, 3}).blob("b", 8),
          {9, 9});
  compare("depthwise",
          network_text(
              3, 9, 9,
              conv("a", "data", "a", "num_output: 12 kernel_size: 1") +
                  conv("b", "a", "b", "num_output: 12 kernel_size: 3 group: 12 pad: 1 stride: 2")),
          Weights().blob("a", {12, 3, 1, 1}).blob("a", 12).blob("b", {12, 1, 3, 3}).blob("b", 12),
          {9, 9});
}

DVNN_TEST(activations_and_poolings_agree) {
  const std::string first = conv("c", "data", "c", "num_output: 9 kernel_size: 3 pad: 1");
  const Weights weights = Weights().blob("c", {9, 3, 3, 3}).blob("c", 9);
  for (const char* type : {"ReLU", "Sigmoid", "TanH", "ELU"}) {
    compare(type, network_text(3, 13, 11, first + layer("a", type, "c", "a")), weights, {11, 13});
  }
  Weights prelu = weights;
  compare("PReLU", network_text(3, 13, 11, first + layer("a", "PReLU", "c", "a")),
          prelu.blob("a", 9), {11, 13});
  compare("leaky, then pooled",
          network_text(
              3, 13, 11,
              first + layer("a", "ReLU", "c", "a", "relu_param { negative_slope: 0.1 }") +
                  layer("p", "Pooling", "a", "p", "pooling_param { kernel_size: 3 stride: 2 }")),
          weights, {11, 13});
  for (const char* params :
       {"kernel_size: 2 stride: 2", "kernel_size: 3 stride: 2 pad: 1", "kernel_size: 5 stride: 1",
        "pool: AVE kernel_size: 3 stride: 3", "pool: AVE kernel_size: 2 stride: 2",
        "pool: AVE global_pooling: true", "kernel_size: 5 stride: 1 pad: 2",
        "kernel_size: 7 stride: 1 pad: 3"}) {
    compare(params,
            network_text(3, 13, 11,
                         first + layer("p", "Pooling", "c", "p",
                                       std::string("pooling_param { ") + params + " }")),
            weights, {11, 13});
  }
}

// Kernels and dilations beyond the device's limits run on the CPU, and a message says so.
DVNN_TEST(convolutions_beyond_the_device_agree) {
  compare("large kernel",
          network_text(3, 31, 35,
                       conv("c", "data", "c",
                            "num_output: 8 kernel_h: 11 kernel_w: 9 stride: 4 pad_h: 2 pad_w: 1") +
                           layer("r", "ReLU", "c", "r") +
                           conv("d", "r", "d", "num_output: 4 kernel_size: 3")),
          Weights().blob("c", {8, 3, 11, 9}).blob("c", 8).blob("d", {4, 8, 3, 3}).blob("d", 4),
          {35, 31});
  compare(
      "dilation without pads",
      network_text(3, 17, 23, conv("c", "data", "c", "num_output: 8 kernel_size: 3 dilation: 2")),
      Weights().blob("c", {8, 3, 3, 3}).blob("c", 8), {23, 17});
  const std::string up =
      layer("d", "Deconvolution", "t", "d",
            "convolution_param { num_output: 8 group: 8 kernel_size: 8 stride: 4 "
            "pad: 2 bias_term: false }");
  const std::string text =
      network_text(3, 7, 9, conv("t", "data", "t", "num_output: 8 kernel_size: 1") + up);
  const Weights weights = Weights().blob("t", {8, 3, 1, 1}).blob("t", 8).blob("d", {8, 1, 8, 8});
  compare("upsampling by four", text, weights, {9, 7});
  convert::Report report;
  ck_assert(ModelFiles(text, weights.net()).convert({}, &report).ok());
  const auto& last = report.steps.back();
  ck_assert(last.where == "CPU" && last.why.find("8 x 8 exceeds") != std::string::npos);
}

DVNN_TEST(split_poolings_agree) {
  const std::string first = conv("c", "data", "c", "num_output: 9 kernel_size: 3 pad: 1");
  const Weights weights = Weights().blob("c", {9, 3, 3, 3}).blob("c", 9);
  for (const char* params : {"kernel_size: 6 stride: 6", "pool: AVE kernel_size: 12 stride: 12",
                             "kernel_size: 4 stride: 4", "pool: AVE kernel_size: 8 stride: 8"}) {
    compare(params,
            network_text(3, 24, 24,
                         first + layer("p", "Pooling", "c", "p",
                                       std::string("pooling_param { ") + params + " }")),
            weights, {24, 24});
  }
}

DVNN_TEST(transposed_convolutions_agree) {
  auto deconv = [](const char* params) {
    return layer("d", "Deconvolution", "t", "d",
                 std::string("convolution_param { ") + params + " }");
  };
  const std::string trunk = conv("t", "data", "t", "num_output: 8 kernel_size: 1");
  const Weights weights = Weights().blob("t", {8, 3, 1, 1}).blob("t", 8);
  Weights dense = weights, depthwise = weights, grouped = weights;
  compare("deconvolution",
          network_text(3, 7, 9, trunk + deconv("num_output: 6 kernel_size: 4 stride: 2 pad: 1")),
          dense.blob("d", {8, 6, 4, 4}).blob("d", 6), {9, 7});
  compare("bilinear upsampling",
          network_text(3, 7, 9,
                       trunk + deconv("num_output: 8 group: 8 kernel_size: 4 stride: 2 pad: 1 "
                                      "bias_term: false")),
          depthwise.blob("d", {8, 1, 4, 4}), {9, 7});
  compare("grouped deconvolution",
          network_text(3, 7, 9, trunk + deconv("num_output: 4 group: 2 kernel_size: 3 stride: 2")),
          grouped.blob("d", {8, 2, 3, 3}).blob("d", 4), {9, 7});
}

// 1x1; 1x1, 3x3; 1x1, 5x5; pooling, 1x1: one command of seven runs.
DVNN_TEST(an_inception_module_agrees) {
  auto run = [](const char* name, const char* from, int outputs, int kernel) {
    return conv(name, from, name,
                format("num_output: %d kernel_size: %d pad: %d", outputs, kernel, kernel / 2)
                    .c_str()) +
           layer(std::string("r") + name, "ReLU", name, name);
  };
  const std::string text =
      run("t", "data", 16, 1) + run("a", "t", 16, 1) + run("b", "t", 8, 1) + run("c", "b", 24, 3) +
      run("d", "t", 8, 1) + run("e", "d", 8, 5) +
      layer("p", "Pooling", "t", "p", "pooling_param { kernel_size: 3 stride: 1 pad: 1 }") +
      run("f", "p", 10, 1) +
      "layer { name: \"j\" type: \"Concat\" bottom: \"a\" bottom: \"c\" bottom: \"e\" "
      "bottom: \"f\" top: \"j\" } ";
  Weights weights;
  const struct {
    const char* name;
    int outputs, inputs, kernel;
  } shapes[] = {{"t", 16, 3, 1}, {"a", 16, 16, 1}, {"b", 8, 16, 1}, {"c", 24, 8, 3},
                {"d", 8, 16, 1}, {"e", 8, 8, 5},   {"f", 10, 16, 1}};
  for (const auto& s : shapes) {
    weights.blob(s.name, {s.outputs, s.inputs, s.kernel, s.kernel}).blob(s.name, s.outputs);
  }
  const ModelFiles files(network_text(3, 14, 14, text), weights.net());
  auto model = files.convert();
  ck_assert_msg(model.ok(), "%s", model.ok() ? "" : model.error().message.c_str());
  ck_assert_uint_eq(model.value().steps.size(), 2);
  ck_assert_uint_eq(model.value().steps[1].command.runs.size(), 7);
  compare("inception", network_text(3, 14, 14, text), weights, {14, 14});
}

DVNN_TEST(branches_and_heads_agree) {
  const std::string trunk = conv("t", "data", "t", "num_output: 16 kernel_size: 3 pad: 1");
  const Weights weights = Weights()
                              .blob("t", {16, 3, 3, 3})
                              .blob("t", 16)
                              .blob("a", {16, 16, 1, 1})
                              .blob("a", 16)
                              .blob("b", {16, 16, 3, 3})
                              .blob("b", 16);
  const std::string two = trunk + conv("a", "t", "a", "num_output: 16 kernel_size: 1") +
                          conv("b", "t", "b", "num_output: 16 kernel_size: 3 pad: 1");
  auto join = [](const char* type, const char* extra) {
    return std::string("layer { name: \"j\" type: \"") + type +
           "\" bottom: \"a\" bottom: \"b\" top: \"j\" " + extra + " } ";
  };
  compare("sum", network_text(3, 10, 12, two + join("Eltwise", "") + layer("r", "ReLU", "j", "r")),
          weights, {12, 10});
  compare("weighted sum",
          network_text(3, 10, 12, two + join("Eltwise", "eltwise_param { coeff: 2 coeff: -1 }")),
          weights, {12, 10});
  compare("maximum",
          network_text(3, 10, 12, two + join("Eltwise", "eltwise_param { operation: MAX }")),
          weights, {12, 10});
  compare(
      "sum of shared inputs",
      network_text(
          3, 10, 12,
          two + join("Eltwise", "") +
              "layer { name: \"k\" type: \"Eltwise\" bottom: \"j\" bottom: \"t\" top: \"k\" } "),
      weights, {12, 10});
  compare("concat", network_text(3, 10, 12, two + join("Concat", "")), weights, {12, 10});
  compare("head",
          network_text(3, 10, 12,
                       two + join("Concat", "") +
                           layer("p", "Permute", "j", "p",
                                 "permute_param { order: 0 order: 2 order: 3 order: 1 }") +
                           layer("f", "Flatten", "p", "f")),
          weights, {12, 10});
  compare("softmax over a reshape",
          network_text(3, 10, 12,
                       trunk +
                           layer("p", "Permute", "t", "p",
                                 "permute_param { order: 0 order: 2 order: 3 order: 1 }") +
                           layer("s", "Reshape", "p", "s",
                                 "reshape_param { shape { dim: 0 dim: -1 dim: 4 } }") +
                           layer("m", "Softmax", "s", "m", "softmax_param { axis: 2 }")),
          weights, {12, 10});
}

DVNN_TEST(fully_connected_layers_agree) {
  const std::string text = network_text(
      3, 6, 5,
      conv("c", "data", "c", "num_output: 10 kernel_size: 3 pad: 1") +
          layer("r", "ReLU", "c", "c") +
          layer("i", "InnerProduct", "c", "i", "inner_product_param { num_output: 20 }") +
          layer("q", "ReLU", "i", "i") +
          layer("k", "InnerProduct", "i", "k", "inner_product_param { num_output: 5 }"));
  compare("inner products", text,
          Weights()
              .blob("c", {10, 3, 3, 3})
              .blob("c", 10)
              .blob("i", {20, 300})
              .blob("i", 20)
              .blob("k", {5, 20})
              .blob("k", 5),
          {5, 6});
}

DVNN_TEST(normalisations_agree) {
  const std::string text =
      network_text(3, 8, 8,
                   conv("c", "data", "c", "num_output: 12 kernel_size: 3") +
                       layer("n", "Normalize", "c", "n",
                             "norm_param { across_spatial: false channel_shared: false }") +
                       conv("d", "n", "d", "num_output: 4 kernel_size: 1"));
  compare("Normalize", text,
          Weights()
              .blob("c", {12, 3, 3, 3})
              .blob("c", 12)
              .blob("n", 12, 10, 20)
              .blob("d", {4, 12, 1, 1})
              .blob("d", 4),
          {8, 8});
  const std::string bn = network_text(
      3, 8, 8,
      layer("b", "BatchNorm", "data", "b") +
          layer("s", "Scale", "b", "b", "scale_param { bias_term: true }") +
          conv("c", "b", "c", "num_output: 12 kernel_size: 3") + layer("e", "BatchNorm", "c", "e") +
          layer("r", "ReLU", "e", "r") + layer("g", "BatchNorm", "r", "g"));
  // The first pair goes into mean and scale, which this test by-passes: they must be the identity.
  compare("BatchNorm", bn,
          Weights()
              .blob("b", 3, 0, 0)
              .blob("b", 3, 1 - 1e-5f, 1 - 1e-5f)
              .blob("b", 1, 1, 1)
              .blob("s", 3, 1, 1)
              .blob("s", 3, 0, 0)
              .blob("c", {12, 3, 3, 3})
              .blob("c", 12)
              .blob("e", 12)
              .blob("e", 12, 0.5f, 2)
              .blob("e", 1, 1, 1)
              .blob("g", 12)
              .blob("g", 12, 0.5f, 2)
              .blob("g", 1, 2, 2),
          {8, 8});
}

}  // namespace dvnn::test::numerics_tests
