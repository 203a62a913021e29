// SPDX-License-Identifier: Apache-2.0
// Bytes of I/O and of weights against what the vendor's converter reserves for the same networks,
// as its published sources say. Source: ReserveMemory(weights, io) in the dv-sdk's generated files
// of JointFace and LaneDetection.
#include <algorithm>

#include "base/nth.h"
#include "check_suite.h"
#include "graph_maker.h"
#include "plan/plan.h"
#include "plan/reference/reference.h"

namespace dvnn::test::planner_tests {

DVNN_SUITE(plan_planner);

using namespace dvnn::import;
using device::Activation;
using dvnn::plan::Graph;
using dvnn::plan::PlanOptions;
using dvnn::plan::Reference;

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

}  // namespace dvnn::test::planner_tests
