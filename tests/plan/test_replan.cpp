// SPDX-License-Identifier: Apache-2.0
// Networks planned anew for another size of input, without their models.
#include <random>

#include "../import/caffe_fixture.h"
#include "base/format.h"
#include "base/json.h"
#include "check_suite.h"
#include "network/dvn_file.h"
#include "plan/replan.h"

namespace dvnn::test::replan_tests {

DVNN_SUITE(plan_replan);

using network::Model;
using json = dvnn::Json;

namespace {

// A detector in small: two scales with boxes on their grids, heads permuted, flattened and joined;
// a grouped and a transposed convolution, PReLU, and poolings that round up.
std::string detector_text(int h, int w) {
  auto conv = [](const char* name, const char* from, const char* params) {
    return layer(name, "Convolution", from, name,
                 std::string("convolution_param { ") + params + " }");
  };
  auto head = [&](const std::string& name, const char* from) {
    return conv(name.c_str(), from, "num_output: 8 kernel_size: 3 pad: 1") +
           layer(name + "p", "Permute", name, name + "p",
                 "permute_param { order: 0 order: 2 order: 3 order: 1 }") +
           layer(name + "f", "Flatten", name + "p", name + "f");
  };
  auto priors = [](const char* name, const char* from) {
    return std::string("layer { name: \"") + name + "\" type: \"PriorBox\" bottom: \"" + from +
           "\" bottom: \"data\" top: \"" + name +
           "\" prior_box_param { min_size: 8 aspect_ratio: 2 flip: false } } ";
  };
  return network_text(
      3, h, w,
      conv("a", "data", "num_output: 16 kernel_size: 3 pad: 1 stride: 2") +
          layer("bn", "BatchNorm", "a", "b") + layer("ap", "PReLU", "b", "b") +
          layer("p", "Pooling", "b", "p", "pooling_param { kernel_size: 3 stride: 2 }") +
          conv("g", "p", "num_output: 16 kernel_size: 3 pad: 1 group: 2") +
          layer("gr", "ReLU", "g", "g") +
          layer("d", "Pooling", "g", "d", "pooling_param { kernel_size: 2 stride: 2 }") +
          head("x", "g") + head("y", "d") + priors("q", "g") + priors("r", "d") +
          "layer { name: \"loc\" type: \"Concat\" bottom: \"xf\" bottom: \"yf\" top: \"loc\" } "
          "layer { name: \"prior\" type: \"Concat\" bottom: \"q\" bottom: \"r\" top: \"prior\" "
          "concat_param { axis: 2 } } "
          "layer { name: \"m\" type: \"Eltwise\" bottom: \"loc\" bottom: \"loc\" top: \"m\" } ");
}

Weights detector_weights() {
  return Weights()
      .blob("a", {16, 3, 3, 3})
      .blob("a", 16)
      .blob("bn", 16)
      .blob("bn", 16, 0.5f, 2)
      .blob("bn", 1, 1, 1)
      .blob("ap", 16)
      .blob("g", {16, 8, 3, 3})
      .blob("g", 16)
      .blob("x", {8, 16, 3, 3})
      .blob("x", 8)
      .blob("y", {8, 16, 3, 3})
      .blob("y", 8);
}

Model converted(const std::string& text, const Weights& weights,
                const convert::ConvertOptions& options) {
  auto model = ModelFiles(text, weights.net()).convert(options);
  ck_assert_msg(model.ok(), "%s", model.ok() ? "" : model.error().message.c_str());
  model.value().source.clear();
  model.value().name = "n";
  return std::move(model.value());
}

void refused(const Model& model, int width, int height, std::initializer_list<const char*> words) {
  const auto resized = plan::replan(model, width, height);
  ck_assert(!resized.ok());
  for (const char* word : words) {
    ck_assert_msg(resized.error().message.find(word) != std::string::npos, "no '%s' in: %s", word,
                  resized.error().message.c_str());
  }
}

}  // namespace

DVNN_TEST(a_network_is_planned_as_from_its_model) {
  for (bool hwc : {false, true}) {
    for (bool quantise : {false, true}) {
      convert::ConvertOptions options;
      options.hwc = hwc;
      options.quantise = quantise;
      const Model small = converted(detector_text(33, 47), detector_weights(), options);
      const Model large = converted(detector_text(70, 64), detector_weights(), options);
      auto resized = plan::replan(small, 64, 70);
      ck_assert_msg(resized.ok(), "%s", resized.ok() ? "" : resized.error().message.c_str());
      resized.value().source.clear();
      ck_assert(network::model_to_json(resized.value()) == network::model_to_json(large));
      ck_assert(resized.value().weights == large.weights);
      // And back.
      auto again = plan::replan(resized.value(), 47, 33);
      ck_assert(again.ok());
      ck_assert(network::model_to_json(again.value()) == network::model_to_json(small));
    }
  }
}

// A layer that is fully connected to one pixel's channels does not mind the picture's size.
DVNN_TEST(a_classifier_with_global_pooling_takes_any_size) {
  auto classifier = [](int h, int w) {
    return converted(
        network_text(
            3, h, w,
            layer("c", "Convolution", "data", "c",
                  "convolution_param { num_output: 16 kernel_size: 3 stride: 2 }") +
                layer("p", "Pooling", "c", "p",
                      "pooling_param { pool: AVE global_pooling: true }") +
                layer("i", "InnerProduct", "p", "i", "inner_product_param { num_output: 4 }") +
                layer("s", "Softmax", "i", "s")),
        Weights().blob("c", {16, 3, 3, 3}).blob("c", 16).blob("i", {4, 16}).blob("i", 4), {});
  };
  const Model large = classifier(50, 40);
  auto resized = plan::replan(classifier(20, 30), 40, 50);
  ck_assert_msg(resized.ok(), "%s", resized.ok() ? "" : resized.error().message.c_str());
  ck_assert(network::model_to_json(resized.value()) == network::model_to_json(large));
  ck_assert(resized.value().weights == large.weights);
}

DVNN_TEST(anchors_by_the_pictures_size_follow) {
  Model model = converted(detector_text(33, 47), detector_weights(), {});
  model.decoder.name = "ssd";
  model.decoder.params = {{"anchors", {{"rule", "min-boxes"}, {"image", {47, 33}}}}};
  const auto resized = plan::replan(model, 64, 70);
  ck_assert(resized.ok());
  ck_assert(resized.value().decoder.params.at("anchors")["image"] == json({64, 70}));
}

DVNN_TEST(what_is_of_one_size_is_named) {
  const Model fc = converted(
      network_text(
          3, 8, 8,
          layer("c", "Convolution", "data", "c",
                "convolution_param { num_output: 8 kernel_size: 3 }") +
              layer("i", "InnerProduct", "c", "i", "inner_product_param { num_output: 4 }")),
      Weights().blob("c", {8, 3, 3, 3}).blob("c", 8).blob("i", {4, 8 * 36}).blob("i", 4), {});
  refused(fc, 16, 16, {"16x16", "'i'", "fully connected"});
  refused(fc, 2, 2, {"'c'"});
  refused(fc, 100000, 100000, {"100000"});
  Model bare = fc;
  bare.saved = {};
  refused(bare, 16, 16, {"convert"});
}

DVNN_TEST(sizes_are_read) {
  ck_assert_int_eq(plan::parse_size("320x240").value().width, 320);
  for (const char* text : {"", "320", "320x", "0x4", "-3x4", "320x240x3", "axb"}) {
    ck_assert(!plan::parse_size(text).ok());
  }
}

namespace {

// All members and elements of a document.
void collect(json* at, std::vector<json*>* all) {
  if (!at->is_structured()) return;
  for (json& item : *at) {
    all->push_back(&item);
    collect(&item, all);
  }
}

}  // namespace

// A damaged graph must give an error or a valid network.
DVNN_TEST(lists_of_names_that_are_none_are_refused) {
  const Model model = converted(detector_text(33, 47), detector_weights(), {});
  for (const json& names : {json(nullptr), json(3), json("loc"), json::object()}) {
    Model damaged = model;
    damaged.saved.graph["output_names"] = names;
    const auto planned = plan::replan(damaged, 40, 40);
    ck_assert(!planned.ok());
    const std::string& message = planned.error().message;
    ck_assert_msg(message.find("output_names") != std::string::npos &&
                      (names.is_null() || message.find("array of at most") != std::string::npos),
                  "%s", message.c_str());
  }
}

DVNN_TEST(places_of_weights_are_read_by_node) {
  json damaged = network::model_to_json(converted(detector_text(33, 47), detector_weights(), {}));
  json& nodes = damaged["graph"]["nodes"];
  size_t i = 0;
  while (!nodes[i].contains("weights")) ++i;
  nodes[i]["weights"]["offset"] = -1;
  const auto read = network::model_from_json(damaged);
  ck_assert(!read.ok());
  const std::string& message = read.error().message;
  ck_assert_msg(message.find("graph node " + std::to_string(i)) != std::string::npos &&
                    message.find("'offset'") != std::string::npos,
                "%s", message.c_str());
}

DVNN_TEST(damaged_graphs_do_no_harm) {
  const int rounds = dvnn_rounds(3000);
  const Model model = converted(detector_text(33, 47), detector_weights(), {});
  const json whole = network::model_to_json(model);
  const json values[] = {nullptr,        -1,          0,      1,     7,  1000000, 4294967295u,
                         -2147483648LL,  0.5,         "conv", "cpu", "", true,    json::array(),
                         json::object(), {1, 2, 3, 4}};
  std::mt19937 random(dvnn_seed(1));
  int good = 0;
  for (int round = 0; round < rounds; ++round) {
    json damaged = whole;
    std::vector<json*> places;
    collect(&damaged["graph"], &places);
    *places[random() % places.size()] = values[random() % std::size(values)];
    auto read = network::model_from_json(std::move(damaged));
    if (!read.ok()) continue;
    read.value().weights = model.weights;
    good += plan::replan(read.value(), 40, 40).ok();
  }
  ck_assert_int_lt(good, rounds);
}

}  // namespace dvnn::test::replan_tests
