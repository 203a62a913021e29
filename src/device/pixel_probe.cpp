// SPDX-License-Identifier: Apache-2.0
// Sends pixels of every value through a table in which each entry is its own index, and through a
// 1x1 convolution by the identity. The results tell which entry the device took for which pixel.
#include "device/device.h"

#include <cstring>
#include <vector>

#include "base/nth.h"

namespace dvnn::device {
namespace {

constexpr int kLevels = 256, kChannels = 3;

ConvCommand identity_command() {
  ConvRun run;
  run.m = kChannels;
  run.conv = ConvKind::kConv;
  run.weight_format = WeightFormat::kHalf;
  ConvCommand command;
  command.w = kLevels / 16;
  command.h = 16;
  command.c = kChannels;
  command.hwc = true;
  command.runs = {run};
  return command;
}

Status upload(const Memory& memory, const void* data, size_t size) {
  std::memcpy(memory.data(), data, size);
  return memory.to_device(0, size);
}

// Returns the table index that each channel of each pixel was looked up at. Binary16 is exact up to
// 2048.
Result<std::vector<int>> look_up_all(Device* device) {
  constexpr size_t kValues = size_t{kLevels} * kChannels;
  const ConvCommand command = identity_command();
  const PackedGeometry geometry = run_geometry(command.runs[0], kChannels);
  std::vector<half_t> identity(kChannels * kChannels, float_to_half(0.0f)), table, out(kValues);
  for (size_t k = 0; k < kChannels; ++k) identity[k * kChannels + k] = float_to_half(1.0f);
  std::vector<uint8_t> packed(packed_weights_size(geometry)), pixels;
  WeightSource source;
  source.weights = identity.data();
  pack_weights(geometry, source, packed.data());
  for (size_t i = 0; i < kValues; ++i) {
    table.push_back(float_to_half(static_cast<float>(i)));
    pixels.push_back(static_cast<uint8_t>(i / kChannels));
  }
  DVNN_ASSIGN(const Memory weights, device->allocate(packed.size()));
  DVNN_ASSIGN(const Memory entries, device->allocate(kPixelTableBytes));
  // The driver wants room for binary16, whatever the input is.
  DVNN_ASSIGN(const Memory input, device->allocate(kValues * sizeof(half_t)));
  DVNN_ASSIGN(const Memory output, device->allocate(kValues * sizeof(half_t)));
  DVNN_TRY(upload(weights, packed.data(), packed.size()));
  DVNN_TRY(upload(entries, table.data(), kPixelTableBytes));
  DVNN_TRY(upload(input, pixels.data(), pixels.size()));
  DVNN_ASSIGN(CommandList commands, device->create_command_list());
  DVNN_TRY(commands.add(command, {&input, 0}, {&output, 0}, {}, weights, {&entries, 0}));
  DVNN_TRY(commands.commit());
  DVNN_ASSIGN(const int64_t id, commands.exec());
  DVNN_TRY(commands.wait(id));
  DVNN_TRY(output.to_cpu(0, output.size()));
  std::memcpy(out.data(), output.data(), output.size());
  std::vector<int> indices;
  for (half_t value : out) indices.push_back(static_cast<int>(half_to_float(value)));
  return indices;
}

}  // namespace

PixelTableOrder probe_pixel_table(Device* device) {
  const auto indices = look_up_all(device);
  if (!indices.ok()) return PixelTableOrder::kNone;
  bool planar = true, interleaved = true;
  for (int level = 0; level < kLevels; ++level) {
    for (int channel = 0; channel < kChannels; ++channel) {
      const int index = nth(indices.value(), level * kChannels + channel);
      planar &= index == channel * kLevels + level;
      interleaved &= index == level * kChannels + channel;
    }
  }
  if (planar) return PixelTableOrder::kPlanar;
  return interleaved ? PixelTableOrder::kInterleaved : PixelTableOrder::kNone;
}

}  // namespace dvnn::device
