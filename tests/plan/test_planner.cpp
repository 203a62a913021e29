// SPDX-License-Identifier: Apache-2.0
// Bytes of I/O and of weights against what the vendor's converter reserves for the same networks,
// as its published sources say. Source: ReserveMemory(weights, io) in the dv-sdk's generated files
// of JointFace and LaneDetection.
#include "convert/builder.h"
#include "plan/plan.h"

// Check last: some of its macros have common names.
#include "check_main.h"

using namespace dvnn;
using namespace dvnn::convert;
using device::Activation;
using dvnn::plan::PlanOptions;

namespace {

int sure(const Result<int>& value) {
  ck_assert_msg(value.ok(), "%s", value.ok() ? "" : value.error().message.c_str());
  return value.value();
}

struct Maker : GraphBuilder {
  Maker(int w, int h) { sure(input("data", {1, 3, h, w})); }
  std::string name() { return "layer" + std::to_string(graph.nodes.size()); }
  int conv(int in, int m, int kernel, int pad = 0, Activation activation = Activation::kNone,
           int stride = 1) {
    ConvSpec spec;
    spec.outputs = m;
    spec.kernel_x = spec.kernel_y = kernel;
    spec.stride_x = spec.stride_y = stride;
    spec.left = spec.right = spec.top = spec.bottom = pad;
    const auto weights = static_cast<size_t>(m * shape_of(in).c() * kernel * kernel);
    const int out = sure(convolution(name(), in, spec, std::vector<float>(weights, 0.5f), {}));
    if (activation == Activation::kNone) return out;
    std::vector<float> slopes;
    if (activation == Activation::kPrelu) slopes.assign(static_cast<size_t>(m), 0.25f);
    return sure(this->activation(name(), out, activation, 0.1f, slopes));
  }
  int max(int in, int kernel, int stride, int after = 0, bool ceil = true) {
    PoolSpec spec;
    spec.kernel_x = spec.kernel_y = kernel;
    spec.stride_x = spec.stride_y = stride;
    spec.right = spec.bottom = after;
    spec.ceil = ceil;
    return sure(pooling(name(), in, spec));
  }
  int prob(int in) { return sure(softmax("prob", in, 1)); }
  // Keras' Flatten: in the order H, W, C.
  int flat(int in) {
    const int hwc = sure(permute(name(), in, {0, 2, 3, 1}));
    return sure(reshape(name(), hwc, {1, shape_of(in).elements()}));
  }
  network::Model model(std::vector<int> outputs) {
    graph.outputs = std::move(outputs);
    for (int v : graph.outputs) graph.output_names.push_back("out" + std::to_string(v));
    PlanOptions options;
    auto lowered = plan::plan(graph, options, PictureSpec(), nullptr);
    ck_assert_msg(lowered.ok(), "%s", lowered.ok() ? "" : lowered.error().message.c_str());
    return std::move(lowered.value());
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

constexpr Activation kPrelu = Activation::kPrelu, kRelu = Activation::kRelu;

network::Model net12(int w, int h) {
  Maker m(w, h);
  int at = m.max(m.conv(m.graph.input, 10, 3, 0, kPrelu), 2, 2);
  at = m.conv(m.conv(at, 16, 3, 0, kPrelu), 32, 3, 0, kPrelu);
  return m.model({m.prob(m.conv(at, 2, 1)), m.conv(at, 4, 1)});
}

}  // namespace

START_TEST(joint_face_takes_no_more) {
  check("12Net 20x15", net12(15, 20), 16416, 3536);
  check("12Net 640x480", net12(480, 640), 16416, 9467312);
  Maker m24(24, 24);
  int at = m24.max(m24.conv(m24.graph.input, 28, 3, 0, kPrelu), 3, 2);
  at = m24.max(m24.conv(at, 48, 3, 0, kPrelu), 3, 2);
  at = m24.conv(m24.conv(at, 64, 2, 0, kPrelu), 128, 3, 0, kPrelu);
  check("24Net", m24.model({m24.prob(m24.conv(at, 2, 1)), m24.conv(at, 4, 1)}), 237280, 13216);
  Maker m48(48, 48);
  at = m48.max(m48.conv(m48.graph.input, 32, 3, 0, kPrelu), 3, 2);
  at = m48.max(m48.conv(at, 64, 3, 0, kPrelu), 3, 2);
  at = m48.max(m48.conv(at, 64, 3, 0, kPrelu), 2, 2);
  at = m48.conv(m48.conv(at, 128, 2, 0, kPrelu), 256, 3, 0, kPrelu);
  check("48Net", m48.model({m48.prob(m48.conv(at, 2, 1)), m48.conv(at, 10, 1), m48.conv(at, 4, 1)}),
        863936, 51584);
}
END_TEST

START_TEST(yolov3_tiny_takes_no_more) {
  Maker m(384, 256);
  int at = m.graph.input, route = -1;
  for (int channels : {16, 32, 64, 128, 256}) {
    at = route = m.conv(at, channels, 3, 1, kRelu);
    at = m.max(at, 2, 2);
  }
  at = m.max(m.conv(at, 512, 3, 1, kRelu), 2, 1, 1, false);
  at = m.conv(m.conv(at, 1024, 3, 1, kRelu), 256, 1, 0, kRelu);
  const int low = m.flat(m.conv(m.conv(at, 512, 3, 1, kRelu), 255, 1));
  const int up = sure(m.upsample2("up", m.conv(at, 128, 1, 0, kRelu)));
  const int both = sure(m.concat("route", {up, route}, 1));
  const int high = m.flat(m.conv(m.conv(both, 256, 3, 1, kRelu), 255, 1));
  check("YOLOv3-tiny 384x256", m.model({sure(m.concat("out", {low, high}, 1))}), 17822496, 6193152);
}
END_TEST

START_TEST(lane_detection_takes_no_more) {
  Maker m(384, 256);
  int at = m.max(m.conv(m.graph.input, 16, 3, 1, kRelu), 2, 2);
  at = m.max(m.conv(at, 32, 3, 1, kRelu), 2, 2);
  at = m.max(m.conv(m.conv(at, 32, 3, 1, kRelu), 64, 3, 1, kRelu), 2, 2);
  at = m.max(m.conv(m.conv(at, 64, 3, 1, kRelu), 64, 3, 1, kRelu), 2, 2);
  at = m.max(m.conv(at, 128, 3, 1, kRelu), 2, 2);
  for (int channels : {128, 64, 32, 16, 2}) {
    at = m.conv(sure(m.upsample2(m.name(), at)), channels, 3, 1, kRelu);
  }
  check("LaneDetection", m.model({at}), 852048, 5898240);
}
END_TEST

DVNN_TEST_MAIN(planner, joint_face_takes_no_more, yolov3_tiny_takes_no_more,
               lane_detection_takes_no_more)
