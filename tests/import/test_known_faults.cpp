// SPDX-License-Identifier: Apache-2.0
// Known faults of the dv-sdk converter: where it is silently wrong, this one is right, or refuses
// by name. Each test is named after what that tool does.
#include "base/format.h"

#include "base/json.h"
#include "check_suite.h"
#include "compare_opencv.h"
#include "keras_fixture.h"

namespace dvnn::test::known_faults_tests {

DVNN_SUITE(import_known_faults);

using json = dvnn::Json;

namespace {

const std::string kTrunk = conv("c", "data", "c", "num_output: 9 kernel_size: 3 pad: 1");

Weights trunk() {
  return Weights().blob("c", {9, 3, 3, 3}).blob("c", 9);
}

std::string pooling(const char* params) {
  return layer("p", "Pooling", "c", "p", std::string("pooling_param { ") + params + " }");
}

void refused(const std::string& text, const Weights& weights,
             std::initializer_list<const char*> words) {
  expect_refused(ModelFiles(network_text(3, 12, 12, text), weights.net()).convert(), words);
}

// A Keras model's result for a picture of rising numbers, in FP32, channels first.
std::vector<float> keras_result(const KerasModel& model, int h, int w, Shape* shape) {
  convert::Report report;
  auto converted = convert_model(model, nullptr, "2.4.0", &report);
  ck_assert_msg(converted.ok(), "%s", converted.ok() ? "" : converted.error().message.c_str());
  std::vector<float> input(static_cast<size_t>(3 * h * w));
  for (size_t i = 0; i < input.size(); ++i) input[i] = static_cast<float>(i % 17) / 17;
  *shape = report.imported->shape_of(report.imported->outputs[0]);
  return run_reference("keras", *report.imported, input.data());
}

json input_of(const char* name, int h, int w, json more) {
  more["name"] = name;
  more["batch_input_shape"] = {nullptr, h, w, 3};
  return more;
}

}  // namespace

DVNN_TEST(power_layers_are_dropped_with_all_behind_them) {
  const std::string power = layer("p", "Power", "c", "p", "power_param { scale: 0.5 shift: 2 }") +
                            layer("r", "ReLU", "p", "r");
  compare("power", network_text(3, 12, 12, kTrunk + power), trunk(), {12, 12});
  refused(kTrunk + layer("p", "Power", "c", "p", "power_param { power: 2 }"), trunk(),
          {"'p'", "power"});
}

DVNN_TEST(the_first_part_of_a_split_pooling_is_the_output) {
  compare("average of 14 x 14",
          network_text(3, 14, 14, kTrunk + pooling("pool: AVE global_pooling: true")), trunk(),
          {14, 14});
}

DVNN_TEST(a_split_is_chosen_from_the_width_alone) {
  compare(
      "6 x 4",
      network_text(3, 16, 24, kTrunk + pooling("kernel_h: 4 kernel_w: 6 stride_h: 4 stride_w: 6")),
      trunk(), {24, 16});
  compare(
      "1 x 28",
      network_text(3, 28, 10, kTrunk + pooling("pool: AVE kernel_h: 28 kernel_w: 1 stride_h: 28")),
      trunk(), {10, 28});
}

DVNN_TEST(zeros_above_are_taken_for_zeros_to_the_left) {
  KerasModel m;
  m.layer("ZeroPadding2D", input_of("z", 5, 6, {{"padding", {{1, 2}, {3, 4}}}}));
  Shape shape;
  const auto out = keras_result(m, 5, 6, &shape);
  ck_assert(shape == (Shape{1, 3, 5 + 1 + 2, 6 + 3 + 4}));
  ck_assert_float_eq(out[13 + 3], 0);  // the picture's first pixel is in the second row
  ck_assert_float_eq(out[13 + 4], 1.0f / 17);
}

DVNN_TEST(dilation_of_rows_is_taken_for_that_of_columns) {
  KerasModel m;
  m.layer("Conv2D", input_of("c", 12, 12, {{"dilation_rate", {3, 1}}, {"use_bias", false}}));
  m.weights("c", "kernel:0", {3, 3, 3, 4});
  Shape shape;
  keras_result(m, 12, 12, &shape);
  ck_assert(shape == (Shape{1, 4, 6, 10}));
}

DVNN_TEST(output_padding_of_rows_is_taken_for_that_of_columns) {
  KerasModel m;
  m.layer("Conv2DTranspose", input_of("t", 5, 6,
                                      {{"strides", {2, 2}},
                                       {"padding", "same"},
                                       {"output_padding", {1, 0}},
                                       {"use_bias", false}}));
  m.weights("t", "kernel:0", {3, 3, 2, 3});
  Shape shape;
  keras_result(m, 5, 6, &shape);
  // (n - 1) * 2 + 3 - 2 * 1 + output_padding
  ck_assert(shape == (Shape{1, 2, 10, 11}));
}

DVNN_TEST(sequences_are_doubled_in_both_directions) {
  KerasModel m;
  m.layer("UpSampling1D", {{"name", "u"}, {"batch_input_shape", {nullptr, 10, 3}}, {"size", 2}});
  auto model = convert_model(m);
  ck_assert_msg(model.ok(), "%s", model.ok() ? "" : model.error().message.c_str());
  const network::Model& made = model.value();
  ck_assert(made.tensor(made.outputs[0].tensor).desc.shape == (Shape{1, 3, 1, 20}));
}

DVNN_TEST(one_number_of_dilation_overwrites_the_pads) {
  KerasModel m;
  m.layer("Conv2D",
          input_of("c", 12, 12, {{"dilation_rate", 2}, {"padding", "same"}, {"use_bias", false}}));
  m.weights("c", "kernel:0", {3, 3, 3, 4});
  Shape shape;
  keras_result(m, 12, 12, &shape);
  ck_assert(shape == (Shape{1, 4, 12, 12}));
}

DVNN_TEST(transposed_convolutions_of_sequences_are_not_seen_as_such) {
  KerasModel m;
  m.layer("Conv1DTranspose", {{"name", "t"},
                              {"batch_input_shape", {nullptr, 10, 3}},
                              {"strides", 1},
                              {"padding", "same"},
                              {"use_bias", false}});
  m.weights("t", "kernel:0", {3, 4, 3});  // length, out, in
  Shape shape;
  keras_result(m, 1, 10, &shape);
  ck_assert(shape == (Shape{1, 4, 1, 10}));
}

DVNN_TEST(transposed_weights_are_read_in_the_wrong_order) {
  compare(
      "deconvolution",
      network_text(3, 7, 7,
                   kTrunk + layer("d", "Deconvolution", "c", "d",
                                  "convolution_param { num_output: 4 kernel_size: 2 stride: 2 }")),
      trunk().blob("d", {9, 4, 2, 2}).blob("d", 4), {7, 7});
}

DVNN_TEST(fully_connected_layers_read_channels_alone) {
  compare("of a picture",
          network_text(3, 6, 5,
                       kTrunk + layer("i", "InnerProduct", "c", "i",
                                      "inner_product_param { num_output: 7 }")),
          trunk().blob("i", {7, 9 * 6 * 5}).blob("i", 7), {5, 6});
}

DVNN_TEST(groups_are_taken_for_one_per_channel) {
  compare(
      "three groups",
      network_text(3, 8, 8, kTrunk + conv("g", "c", "g", "num_output: 6 kernel_size: 3 group: 3")),
      trunk().blob("g", {6, 3, 3, 3}).blob("g", 6), {8, 8});
}

DVNN_TEST(unknown_activations_become_the_one_before) {
  KerasModel m;
  m.layer("Activation", input_of("a", 4, 4, {{"activation", "relu"}}))
      .layer("Activation", {{"name", "s"}, {"activation", "swoosh"}});
  expect_refused(convert_model(m, nullptr, "2.4.0", nullptr), {"'s'", "swoosh"});
}

DVNN_TEST(heights_widths_and_dilation_are_not_read) {
  compare("kernel, stride and pad of two sizes",
          network_text(3, 13, 17,
                       conv("c", "data", "c",
                            "num_output: 5 kernel_h: 1 kernel_w: 5 stride_h: 2 stride_w: 1 "
                            "pad_h: 0 pad_w: 2")),
          Weights().blob("c", {5, 3, 1, 5}).blob("c", 5), {17, 13});
  compare("dilation",
          network_text(3, 12, 12,
                       conv("c", "data", "c", "num_output: 5 kernel_size: 3 pad: 2 dilation: 2")),
          Weights().blob("c", {5, 3, 3, 3}).blob("c", 5), {12, 12});
}

DVNN_TEST(every_eltwise_is_a_sum) {
  const std::string two = kTrunk + conv("d", "data", "d", "num_output: 9 kernel_size: 1");
  const Weights weights = trunk().blob("d", {9, 3, 1, 1}).blob("d", 9);
  for (const char* operation : {"operation: PROD", "operation: MAX", "coeff: 1 coeff: -1"}) {
    compare(operation,
            network_text(3, 12, 12,
                         two +
                             "layer { name: \"e\" type: \"Eltwise\" bottom: \"c\" bottom: \"d\" "
                             "top: \"e\" eltwise_param { " +
                             operation + " } } "),
            weights, {12, 12});
  }
}

DVNN_TEST(stochastic_pooling_becomes_an_average) {
  refused(kTrunk + pooling("pool: STOCHASTIC kernel_size: 2 stride: 2"), trunk(),
          {"'p'", "stochastic"});
}

DVNN_TEST(a_batch_norm_with_an_output_of_its_own_has_no_eps) {
  compare("eps",
          network_text(3, 8, 8,
                       kTrunk + layer("b", "BatchNorm", "c", "b", "batch_norm_param { eps: 0.5 }")),
          trunk().blob("b", 9).blob("b", 9, 0.1f, 1).blob("b", 1, 1, 1), {8, 8});
}

DVNN_TEST(a_scale_without_bias_crashes) {
  compare("scale", network_text(3, 8, 8, kTrunk + layer("s", "Scale", "c", "s")),
          trunk().blob("s", 9), {8, 8});
}

DVNN_TEST(a_shared_slope_is_one_channels) {
  compare(
      "prelu",
      network_text(3, 8, 8,
                   kTrunk + layer("r", "PReLU", "c", "r", "prelu_param { channel_shared: true }")),
      trunk().blob("r", 1), {8, 8});
}

DVNN_TEST(a_network_that_ends_in_place_has_no_output) {
  compare("in place", network_text(3, 8, 8, kTrunk + layer("r", "ReLU", "c", "c")), trunk(),
          {8, 8});
}

DVNN_TEST(a_reshape_keeps_the_devices_order) {
  compare("reshape",
          network_text(3, 4, 6,
                       kTrunk + layer("r", "Reshape", "c", "r",
                                      "reshape_param { shape { dim: 1 dim: -1 dim: 3 } }")),
          trunk(), {6, 4});
}

}  // namespace dvnn::test::known_faults_tests
