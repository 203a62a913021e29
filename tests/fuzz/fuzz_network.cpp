// SPDX-License-Identifier: Apache-2.0
// Descriptions of networks, as they stand in a file whose checksums are right: read, validated,
// planned for two other sizes, run on the software device, decoded.
#include <cstdint>
#include <cstdlib>

#include "base/json.h"
#include "decode/decoder.h"
#include "network/model_json.h"
#include "network/network.h"
#include "plan/plan.h"

#ifdef DVNN_FUZZER
#include "json_mutator.h"
#endif

using namespace dvnn;

namespace {

std::shared_ptr<device::Device> soft_device;

void run(const network::Model& model) {
  auto network = network::Network::create(model, soft_device);
  if (!network.ok()) return;
  auto slot = network.value()->create_slot();
  if (!slot.ok()) return;
  const Span<uint8_t> input = slot.value()->input();
  for (size_t i = 0; i < input.size(); ++i) input[i] = static_cast<uint8_t>(i * 37);
  if (!slot.value()->run().ok() || model.decoder.name.empty()) return;
  std::vector<decode::NamedOutput> outputs;
  std::vector<ConstTensorView> views;
  for (size_t i = 0; i < model.outputs.size(); ++i) {
    const auto& output = model.outputs[i];
    outputs.push_back({output.name, model.tensors[static_cast<size_t>(output.tensor)].desc});
    views.push_back(slot.value()->output(i));
  }
  auto decoder = decode::create_decoder(model.decoder.name, model.decoder.params, outputs);
  if (!decoder.ok()) return;
  objects::Objects found;
  (void)decoder.value()->decode(views, 0.01f, &found).ok();
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  // Small budgets: many inputs a second, and every limit is met.
  setenv("DVNN_MAX_IO_BYTES", "1000000", 1);
  setenv("DVNN_MAX_CONSTANT_BYTES", "1000000", 1);
  setenv("DVNN_MAX_SCRATCH_BYTES", "4000000", 1);
  setenv("DVNN_MAX_DEVICE_MACS", "4000000", 1);
  setenv("DVNN_MAX_CPU_WORK", "4000000", 1);
  setenv("DVNN_MAX_CANDIDATES", "4096", 1);
  setenv("DVNN_MAX_GRAPH_NODES", "256", 1);
  setenv("DVNN_MAX_WEIGHT_BYTES", "1000000", 1);
  setenv("DVNN_SOFT_THREADS", "1", 0);
  auto device = device::Device::open("soft");
  if (!device.ok()) {
    std::fprintf(stderr, "%s\n", device.error().message.c_str());
    std::exit(1);
  }
  soft_device = device.value();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kWeights = 16384;
  const auto json = parse_json(std::string(reinterpret_cast<const char*>(data), size), "it");
  if (!json.ok()) return 0;
  auto model = network::model_from_json(json.value());
  if (!model.ok()) return 0;
  model.value().weights.resize(kWeights);
  for (size_t i = 0; i < kWeights; ++i)
    model.value().weights[i] = static_cast<uint8_t>(i * 13 % 64);
  if (!network::validate(model.value()).ok()) return 0;
  run(model.value());
  for (const auto& [width, height] : {std::make_pair(16, 16), {40, 24}}) {
    const auto sized = plan::resize(model.value(), width, height);
    if (sized.ok()) run(sized.value());
  }
  return 0;
}
