// SPDX-License-Identifier: Apache-2.0
// Layers that do not fit their tensors or parameters.
#include "layer_run.h"

using namespace dvnn;
using namespace dvnn::layers;
using namespace dvnn::test;
using json = dvnn::Json;

START_TEST(layers_that_do_not_fit_are_refused) {
  struct Refusal {
    const char* type;
    json params;
    std::vector<TensorDesc> inputs;
    TensorDesc output;
  };
  const TensorDesc four = plain({1, 1, 2, 2});
  const Refusal refusals[] = {
      {"Teleport", {}, {four}, four},
      {"Concat", {{"axis", 9}}, {four}, four},
      {"Concat", {{"axis", 1}}, {four, four}, four},
      {"Permute", {{"order", {0, 1, 2, 2}}}, {four}, four},
      {"Permute", {{"order", {0, 1}}}, {four}, four},
      {"Softmax", {{"axis", -1}}, {four}, four},
      {"Softmax", json::object(), {}, four},
      {"Reshape", {}, {four}, plain({5})},
      {"Normalize", {{"scale", {1, 2, 3}}, {"channel_shared", false}}, {four}, four},
      {"Pooling", {{"method", "median"}}, {four}, four},
      {"Pooling", {{"method", "max"}, {"kernel_w", 0}}, {four}, four},
      {"Pooling", {{"method", "max"}}, {four}, plain({1, 1, 9, 9})},
      {"Eltwise", {{"operation", "xor"}}, {four, four}, four},
      {"Eltwise", {{"coeff", {1}}}, {four, four}, four},
      {"PriorBox", {{"min_sizes", {1}}}, {}, four},
      {"DetectionOutput", {{"num_classes", 2}}, {four, four, four}, plain({1, 1, 4, 7})},
      {"Scale", {{"scale", {1, 2}}}, {four}, four},
      {"Convolution", {{"weights", {1, 2}}, {"bias", {0}}}, {four}, four},
      {"Convolution", {{"weights", {1}}, {"bias", {0}}, {"groups", 2}}, {four}, four},
      {"Convolution", {{"weights", {1}}, {"bias", {0}}, {"kernel_w", 0}}, {four}, four},
  };
  for (const Refusal& r : refusals) {
    auto layer = test::create_layer(r.type, r.params, r.inputs, {&r.output, 1});
    ck_assert_msg(!layer.ok(), "%s %s was accepted", r.type, r.params.dump().c_str());
    ck_assert(layer.error().message.find(r.type) != std::string::npos);
  }
}
END_TEST

DVNN_TESTS(layer, layers_that_do_not_fit_are_refused)
