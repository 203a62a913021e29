// SPDX-License-Identifier: Apache-2.0
// Bytes of I/O and of weights against what the vendor's converter reserves for the same networks,
// as its published sources say. Source: ReserveMemory(weights, io) in the dv-sdk's generated files
// of JointFace and LaneDetection.
#include <algorithm>
#include <random>

#include "../import/caffe_fixture.h"
#include "base/format.h"
#include "base/json.h"
#include "base/nth.h"
#include "check_suite.h"
#include "graph_maker.h"
#include "network/dvn_file.h"
#include "plan/plan.h"
#include "plan/reference/reference.h"
#include "plan/replan.h"

namespace dvnn::test::planner_tests {

DVNN_SUITE(plan_planner);

using device::Activation;
using dvnn::plan::Graph;
using dvnn::plan::PlanOptions;
using dvnn::plan::Reference;
using json = dvnn::Json;
using namespace dvnn::import;
using network::Model;

namespace {

struct Network : Maker {
  Network(int w, int h) : Maker(h, w) {}
  // Without pads, or with all that a kernel needs; and its activation.
  int run(int in, int m, int kernel, Activation kind) {
    return active(conv(in, m, kernel, 0), kind);
  }
  int same(int in, int m, int kernel = 3) { return active(conv(in, m, kernel), Activation::kRelu); }
  int max(int in, int kernel, int stride) { return pooled(in, false, kernel, stride); }
  int prob(int in) { return sure(softmax("prob", in, 1)); }
  // Keras' Flatten: in the order H, W, C.
  int flat(int in) {
    const int hwc = sure(permute(name(), in, {0, 2, 3, 1}));
    return sure(reshape(name(), hwc, {1, shape_of(in).elements()}));
  }
  network::Model model(std::vector<int> outputs) {
    auto planned = plan::plan(done(std::move(outputs)), PlanOptions(), InputSpec(), nullptr);
    ck_assert_msg(planned.ok(), "%s", planned.ok() ? "" : planned.error().message.c_str());
    return std::move(planned.value());
  }
};

void check(const char* what, const network::Model& model, size_t weights, uint64_t io) {
  std::printf("%-20s weights %9zu (vendor %9zu)   I/O %9llu (vendor %9llu, %.2f of it)\n", what,
              model.weights.size(), weights, static_cast<unsigned long long>(model.io_bytes),
              static_cast<unsigned long long>(io),
              static_cast<double>(model.io_bytes) / static_cast<double>(io));
  ck_assert_uint_eq(model.weights.size(), weights);
  ck_assert_uint_le(model.io_bytes, io);
}

constexpr Activation kPrelu = Activation::kPrelu;

network::Model net12(int w, int h) {
  Network n(w, h);
  int at = n.max(n.run(n.graph.input, 10, 3, kPrelu), 2, 2);
  at = n.run(n.run(at, 16, 3, kPrelu), 32, 3, kPrelu);
  return n.model({n.prob(n.conv(at, 2, 1)), n.conv(at, 4, 1)});
}

void check_on_device(const network::Model& model) {
  for (const network::Step& step : model.steps) {
    ck_assert_msg(step.kind == network::StepKind::kDevice, "%s is the CPU's", step.name.c_str());
  }
}

}  // namespace

DVNN_TEST(joint_face_takes_no_more) {
  check("12Net 20x15", net12(15, 20), 16416, 3536);
  check("12Net 640x480", net12(480, 640), 16416, 9467312);
  Network n24(24, 24);
  int at = n24.max(n24.run(n24.graph.input, 28, 3, kPrelu), 3, 2);
  at = n24.max(n24.run(at, 48, 3, kPrelu), 3, 2);
  at = n24.run(n24.run(at, 64, 2, kPrelu), 128, 3, kPrelu);
  check("24Net", n24.model({n24.prob(n24.conv(at, 2, 1)), n24.conv(at, 4, 1)}), 237280, 13216);
  Network n48(48, 48);
  at = n48.max(n48.run(n48.graph.input, 32, 3, kPrelu), 3, 2);
  at = n48.max(n48.run(at, 64, 3, kPrelu), 3, 2);
  at = n48.max(n48.run(at, 64, 3, kPrelu), 2, 2);
  at = n48.run(n48.run(at, 128, 2, kPrelu), 256, 3, kPrelu);
  check("48Net", n48.model({n48.prob(n48.conv(at, 2, 1)), n48.conv(at, 10, 1), n48.conv(at, 4, 1)}),
        863936, 51584);
}

DVNN_TEST(yolov3_tiny_takes_no_more) {
  Network n(384, 256);
  int at = n.graph.input, route = -1;
  for (int channels : {16, 32, 64, 128, 256}) {
    at = route = n.same(at, channels);
    at = n.max(at, 2, 2);
  }
  PoolSpec last;  // as large as its input
  last.kernel_x = last.kernel_y = 2;
  last.right = last.bottom = 1;
  at = sure(n.pooling("last", n.same(at, 512), last));
  at = n.same(n.same(at, 1024), 256, 1);
  const int low = n.flat(n.conv(n.same(at, 512), 255, 1));
  const int up = sure(n.upsample2("up", n.same(at, 128, 1)));
  const int high = n.flat(n.conv(n.same(n.joined({up, route}), 256), 255, 1));
  check("YOLOv3-tiny 384x256", n.model({n.joined({low, high})}), 17822496, 6193152);
}

DVNN_TEST(lane_detection_takes_no_more) {
  Network n(384, 256);
  int at = n.max(n.same(n.graph.input, 16), 2, 2);
  at = n.max(n.same(at, 32), 2, 2);
  at = n.max(n.same(n.same(at, 32), 64), 2, 2);
  at = n.max(n.same(n.same(at, 64), 64), 2, 2);
  at = n.max(n.same(at, 128), 2, 2);
  for (int channels : {128, 64, 32, 16, 2}) {
    at = n.same(sure(n.upsample2(n.name(), at)), channels);
  }
  check("LaneDetection", n.model({at}), 852048, 5898240);
}

// Groups of eight channels lie one after the other in the device's memory: slices of whole groups
// are read in place, and joined parts are written to their final place.
DVNN_TEST(channels_are_cut_and_joined_where_they_lie) {
  for (const auto& [first, count] : {std::pair(0, 8), std::pair(8, 16), std::pair(24, 16)}) {
    Network n(16, 16);
    const int all = n.max(n.same(n.graph.input, 40), 2, 2);
    const int some = sure(n.slice(n.name(), all, {0, first, 0, 0}, {1, 1, 1, 1}, {1, count, 8, 8}));
    check_on_device(n.model({n.conv(n.max(some, 2, 2), 8), n.conv(all, 8)}));
  }
  Network n(16, 16);
  const int first = n.max(n.same(n.graph.input, 16), 2, 2), second = n.max(n.same(first, 8), 3, 1);
  const int narrow = n.max(first, 3, 1);
  check_on_device(n.model({n.conv(n.joined({narrow, second}), 8), n.conv(second, 8)}));

  // All slices of a value, in their order, are joined where it lies; others are copied.
  const std::vector<int> all_slices = {0, 16};
  for (const auto& begins : {all_slices, {0, 8}, {0, 0}, {16, 0}, {0}, {16}}) {
    Network m(16, 16);
    const int all = m.max(m.same(m.graph.input, 32), 2, 2);
    const auto slice = [&](int begin) {
      return sure(m.slice(m.name(), all, {0, begin, 0, 0}, {1, 1, 1, 1}, {1, 16, 8, 8}));
    };
    std::vector<int> parts;
    for (const int begin : begins) parts.push_back(slice(begin));
    parts.push_back(m.same(parts[0], 16));
    const network::Model model = m.model({m.conv(m.joined(parts), 8), m.conv(all, 8)});
    const auto copies = std::count_if(model.steps.begin(), model.steps.end(), [](const auto& step) {
      return step.kind == network::StepKind::kCpu;
    });
    ck_assert_int_eq(copies, begins == all_slices ? 0 : 1);
  }
}

// What a run past the values shows is what a whole run keeps; it keeps outputs and inputs alone.
DVNN_TEST(values_are_shown_once_and_then_forgotten) {
  Maker m(8, 8);
  const int first = m.conv(m.graph.input, 8), second = m.active(first, device::Activation::kRelu);
  const int joined = m.joined({first, second, m.conv(second, 8)});
  const Graph graph = m.done({m.conv(joined, 4), second});
  const auto input = numbers(graph.shape_of(graph.input).count());
  auto whole = Reference::create(graph), past = Reference::over(graph);
  ck_assert(whole.ok() && past.ok());
  ck_assert(whole.value()->run(input.data()).ok());
  std::vector<int> shown(graph.values.size(), 0);
  const auto see = [&](int value, const std::vector<float>& values) {
    ++nth(shown, value);
    ck_assert(values == whole.value()->value(value));
  };
  for (int frame = 1; frame <= 2; ++frame) {
    ck_assert(past.value()->run_past(input.data(), see).ok());
    for (int times : shown) ck_assert_int_eq(times, frame);
  }
  for (size_t i = 0; i < graph.values.size(); ++i) {
    const int value = static_cast<int>(i);
    const bool stays = std::count(graph.outputs.begin(), graph.outputs.end(), value) > 0;
    if (stays) ck_assert(past.value()->value(value) == whole.value()->value(value));
    if (!stays) ck_assert_uint_eq(past.value()->value(value).capacity(), 0);
  }
}

// Networks planned anew for another size of input, without their models.

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

}  // namespace dvnn::test::planner_tests
