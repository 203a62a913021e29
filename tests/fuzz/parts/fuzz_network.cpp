// SPDX-License-Identifier: Apache-2.0
// Descriptions of networks, as they stand in a file whose checksums are right: read, validated,
// planned for two other sizes, and each of the three run on the software device and decoded.
#include "json_mutator.h"
#include "network/dvn_file.h"
#include "network/finite_watch.h"
#include "network/model_decoder.h"
#include "network/network.h"
#include "network_file.h"
#include "plan/replan.h"
#include "target.h"

namespace dvnn::fuzz::network_target {

DVNN_FUZZ_JSON("conv", "depthwise", "max", "average", "upsample", "cpu", "device", "relu", "prelu",
               "tanh", "leaky_relu", "sigmoid", "elu", "relu6", "add", "sub", "mul", "concat",
               "conv", "fully_connected", "pooling", "activation", "float16", "float32", "uint8",
               "int8", "nchw", "nhwc", "whc8", "hwc8", "constant", "io", "scratch", "Softmax",
               "Elementwise", "Where", "Pooling", "Permute", "Reshape", "Slice", "Concat",
               "Constant", "Normalize", "PriorBox", "DetectionOutput", "Convolution", "PerChannel",
               "Activation", "detection-output", "ssd", "classification", "params", "type", "axis",
               "order", "shape", "shape_inputs", "eltwise", "run", "weights", "quantised", "graph",
               "decoder", "labels", "kernel", "stride", "pad", "dilation", "extra_inputs", "next",
               "tensor", "tensors", "offset", "storage")

namespace {

std::shared_ptr<device::Device> soft_device;

void run(const network::Model& model) {
  auto network = network::Network::create(model, soft_device);
  if (!fuzz::is_good(network)) return;
  auto slot = network.value()->create_slot();
  if (!fuzz::is_good(slot)) return;
  network::StreamMemory memory(network.value());
  const network::LiveInputs live(model);
  network::FiniteWatch watch;
  const int frames = model.extra_inputs.empty() ? 1 : 3;
  for (int frame = 0; frame < frames; ++frame) {
    const Span<uint8_t> input = slot.value()->input();
    for (size_t i = 0; i < input.size(); ++i) input[i] = static_cast<uint8_t>(i * 37);
    std::string warning;
    if (!watch.run(slot.value().get(), &memory, nullptr, &warning, &live).ok()) return;
  }
  if (model.decoder.name.empty()) return;
  std::vector<ConstTensorView> views;
  for (size_t i = 0; i < model.outputs.size(); ++i) views.push_back(slot.value()->output(i));
  auto decoder = network::create_decoder(model);
  if (!decoder.ok()) return;
  objects::Objects found;
  (void)decoder.value()->decode(views, 0.01f, &found).ok();
}

}  // namespace

static void prepare() {
  fuzz::set_small_budgets();
  auto device = device::Device::open("soft");
  if (!device.ok()) {
    std::fprintf(stderr, "%s\n", device.error().message.c_str());
    std::exit(1);
  }
  soft_device = device.value();
}

static void try_input(const uint8_t* data, size_t size) {
  constexpr size_t kWeights = 16384;
  static auto* const file = new fuzz::MemoryFile();
  static const std::string weights = [] {
    std::string bytes(kWeights, '\0');
    for (size_t i = 0; i < kWeights; ++i) bytes[i] = static_cast<char>(i * 13 % 64);
    return bytes;
  }();
  const std::string description(reinterpret_cast<const char*>(data), size);
  const auto model = network::read_dvn(file->with(test::dvn_bytes(description, weights)));
  if (!fuzz::is_good(model)) return;
  ++fuzz::accepted;
  run(model.value());
  for (const auto& [width, height] : {std::make_pair(16, 16), {40, 24}}) {
    const auto sized = plan::replan(model.value(), width, height);
    if (fuzz::is_good(sized)) run(sized.value());
  }
}

DVNN_FUZZ_JSON_TARGET(network)

}  // namespace dvnn::fuzz::network_target
