// SPDX-License-Identifier: Apache-2.0
// What the device can do at the most, and what a network file may ask for.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dvnn::network {

// The device (dv-sdk converter's limits for the DV700).
constexpr int kMaxExtent = 65535;    // pixels, what a command's fields can hold
constexpr int kMaxChannels = 32768;  // input and output channels
constexpr int kMaxKernel = 7;
constexpr int kMaxStride = 255;      // also dilation and pooling windows
constexpr int kMaxPadLeftTop = 127;  // encoded in 7 bits
constexpr int kMaxPadRightBottom = 255;

// A file: bounds that keep a hostile one from taking the machine's memory.
constexpr int64_t kMaxBufferBytes = int64_t{1} << 40;  // what offsets may be; see base/budget.h
constexpr size_t kMaxNameBytes = 1024;                 // of layers, tensors and outputs
constexpr size_t kMaxLabelBytes = 1024;
constexpr uint64_t kMaxJsonBytes = uint64_t{64} << 20;
constexpr uint64_t kMaxWeightBytes = uint64_t{1} << 30;
constexpr size_t kMaxListEntries = 65536;  // tensors, steps, labels

}  // namespace dvnn::network
