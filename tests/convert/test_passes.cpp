// SPDX-License-Identifier: Apache-2.0
// Passes on small models: their results are read off the steps.
#include "../import/caffe_fixture.h"
#include "check_suite.h"
#include "layers/attributes.h"

namespace dvnn::test::passes_tests {

DVNN_SUITE(convert_passes);

using network::Model;
using network::Step;
using network::StepKind;

namespace {

const char* const kConv8 = "convolution_param { num_output: 8 kernel_size: 3 pad: 1 }";

Model converted(const std::string& text, const Weights& weights,
                convert::ConvertOptions options = {}) {
  auto model = ModelFiles(text, weights.net()).convert(options);
  ck_assert_msg(model.ok(), "%s", model.ok() ? "" : model.error().message.c_str());
  return std::move(model.value());
}

const device::ConvRun& run_of(const Model& model, size_t step) {
  ck_assert(model.steps[step].kind == StepKind::kDevice);
  return model.steps[step].command.runs[0];
}

}  // namespace

DVNN_TEST(batchnorm_scale_and_relu_join_their_convolution) {
  const Model model =
      converted(network_text(3, 16, 16,
                             layer("c", "Convolution", "data", "c", kConv8) +
                                 layer("bn", "BatchNorm", "c", "c") +
                                 layer("s", "Scale", "c", "c", "scale_param { bias_term: true }") +
                                 layer("r", "ReLU", "c", "c") + layer("d", "Dropout", "c", "c")),
                Weights()
                    .blob("c", 216)
                    .blob("c", 8)
                    .blob("bn", 8)
                    .blob("bn", 8, 0.5f, 2)
                    .blob("bn", 1, 1, 1)
                    .blob("s", 8)
                    .blob("s", 8));
  ck_assert_uint_eq(model.steps.size(), 1);
  ck_assert(run_of(model, 0).activation == device::Activation::kRelu);
  ck_assert_uint_eq(model.steps[0].layers.size(), 4);
}

DVNN_TEST(an_affine_input_layer_becomes_mean_and_scale) {
  const Model model =
      converted(network_text(3, 16, 16,
                             layer("s", "Scale", "data", "s", "scale_param { bias_term: true }") +
                                 layer("c", "Convolution", "s", "c", kConv8)),
                Weights().blob("s", 3, 2, 2).blob("s", 3, 10, 10).blob("c", 216).blob("c", 8));
  ck_assert_uint_eq(model.steps.size(), 1);
  ck_assert(model.input.picture.scale[0] == 2 && model.input.picture.mean[0] == -5);
}

DVNN_TEST(max_pooling_joins_its_convolution_and_rounds_up) {
  const std::string pool =
      layer("p", "Pooling", "c", "p", "pooling_param { kernel_size: 3 stride: 2 }");
  const Model model = converted(network_text(3, 16, 16,
                                             layer("c", "Convolution", "data", "c", kConv8) +
                                                 layer("r", "ReLU", "c", "c") + pool),
                                Weights().blob("c", 216).blob("c", 8));
  ck_assert_uint_eq(model.steps.size(), 1);
  const device::ConvRun& run = run_of(model, 0);
  ck_assert(run.pool == device::PoolKind::kMax && run.pool_pad.right == 1);
  ck_assert(model.tensors[1].desc.shape.to_string() == "1x8x8x8");
}

DVNN_TEST(a_sum_joins_one_of_its_convolutions) {
  const Model model = converted(
      network_text(3, 16, 16,
                   layer("a", "Convolution", "data", "a", kConv8) +
                       layer("b", "Convolution", "data", "b", kConv8) +
                       "layer { name: \"e\" type: \"Eltwise\" bottom: \"a\" bottom: \"b\" "
                       "top: \"e\" } " +
                       layer("r", "ReLU", "e", "e")),
      Weights().blob("a", 216).blob("a", 8).blob("b", 216).blob("b", 8));
  ck_assert_uint_eq(model.steps.size(), 2);
  ck_assert(model.steps[1].command.eltwise_add);
  ck_assert(run_of(model, 1).activation == device::Activation::kRelu);
}

DVNN_TEST(aligned_branches_are_joined_without_a_copy) {
  const std::string tail =
      "layer { name: \"j\" type: \"Concat\" bottom: \"a\" bottom: \"b\" top: \"j\" } ";
  const std::string text =
      network_text(3, 16, 16,
                   layer("a", "Convolution", "data", "a", kConv8) +
                       layer("b", "Convolution", "data", "b",
                             "convolution_param { num_output: 12 kernel_size: 1 }") +
                       tail + layer("c", "Convolution", "j", "c", kConv8));
  const Model model = converted(
      text, Weights().blob("a", 216).blob("a", 8).blob("b", 36).blob("b", 12).blob("c", 1440).blob(
                "c", 8));
  ck_assert_uint_eq(model.steps.size(), 2);
  ck_assert_uint_eq(model.steps[0].command.runs.size(), 2);
  ck_assert_uint_eq(model.steps[0].command.topo, 3);
  // 12 channels first: the chunks would not meet, so the CPU joins.
  const std::string swapped =
      network_text(3, 16, 16,
                   layer("a", "Convolution", "data", "a",
                         "convolution_param { num_output: 12 kernel_size: 1 }") +
                       layer("b", "Convolution", "data", "b", kConv8) + tail);
  const Model copied =
      converted(swapped, Weights().blob("a", 36).blob("a", 12).blob("b", 216).blob("b", 8));
  ck_assert_uint_eq(copied.steps.size(), 3);
  ck_assert(copied.steps[2].layer->as<layers::ConcatAttributes>());
}

DVNN_TEST(one_group_per_channel_is_depthwise_and_others_are_dense) {
  const std::string text =
      network_text(3, 8, 8,
                   layer("a", "Convolution", "data", "a",
                         "convolution_param { num_output: 3 kernel_size: 3 group: 3 }") +
                       layer("b", "Convolution", "a", "b",
                             "convolution_param { num_output: 6 kernel_size: 1 group: 3 }"));
  const Model model =
      converted(text, Weights().blob("a", 27).blob("a", 3).blob("b", 6).blob("b", 6));
  ck_assert(run_of(model, 0).conv == device::ConvKind::kDepthwise);
  ck_assert(run_of(model, 1).conv == device::ConvKind::kConv);
}

DVNN_TEST(large_global_averages_are_split_and_primes_go_to_the_cpu) {
  auto steps = [](int size) {
    return converted(network_text(3, size, size,
                                  layer("p", "Pooling", "data", "p",
                                        "pooling_param { pool: AVE global_pooling: true }")),
                     Weights())
        .steps;
  };
  ck_assert_uint_eq(steps(7).size(), 1);
  ck_assert_uint_eq(steps(15).size(), 2);
  ck_assert_uint_eq(steps(13).size(), 2);  // with a column and a row of zeros
  ck_assert_uint_eq(steps(53).size(), 1);
  ck_assert(steps(53)[0].kind == StepKind::kCpu);
}

DVNN_TEST(priors_are_made_once_and_heads_lie_side_by_side) {
  const std::string prior =
      "layer { name: \"pb\" type: \"PriorBox\" bottom: \"c\" bottom: \"data\" top: \"pb\" "
      "prior_box_param { min_size: 4 } } ";
  const Model model =
      converted(network_text(3, 16, 16, layer("c", "Convolution", "data", "c", kConv8) + prior),
                Weights().blob("c", 216).blob("c", 8));
  ck_assert(model.constant_bytes > 0);
}

DVNN_TEST(an_affine_layer_and_its_activation_are_one_command) {
  // The pooling before them cannot take the affine layer.
  const Model model = converted(
      network_text(
          3, 16, 16,
          layer("p", "Pooling", "data", "p", "pooling_param { kernel_size: 2 stride: 2 }") +
              layer("s", "Scale", "p", "s", "scale_param { bias_term: true }") +
              layer("r", "ReLU", "s", "s")),
      Weights().blob("s", 3).blob("s", 3));
  ck_assert_uint_eq(model.steps.size(), 2);
  ck_assert(run_of(model, 1).conv == device::ConvKind::kDepthwise);
  ck_assert(run_of(model, 1).activation == device::Activation::kRelu);
}

DVNN_TEST(the_device_runs_all_it_can_before_the_cpu) {
  const char* const order = "permute_param { order: 0 order: 2 order: 3 order: 1 }";
  const Model model = converted(network_text(3, 16, 16,
                                             layer("a", "Convolution", "data", "a", kConv8) +
                                                 layer("pa", "Permute", "a", "pa", order) +
                                                 layer("b", "Convolution", "data", "b", kConv8) +
                                                 layer("pb", "Permute", "b", "pb", order)),
                                Weights().blob("a", 216).blob("a", 8).blob("b", 216).blob("b", 8));
  const std::vector<std::string> names = {"a", "b", "pa", "pb"};
  ck_assert_uint_eq(model.steps.size(), names.size());
  for (size_t i = 0; i < names.size(); ++i) ck_assert(model.steps[i].name == names[i]);
}

}  // namespace dvnn::test::passes_tests
