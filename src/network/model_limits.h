// SPDX-License-Identifier: Apache-2.0
// Limits of a network file beside those of the device (device/limits.h): they keep a hostile file
// from taking the machine's memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dvnn::network {

constexpr int64_t kMaxBufferBytes = int64_t{1} << 40;  // what offsets may be; see base/budget.h
constexpr size_t kMaxNameBytes = 1024;                 // of layers, tensors and outputs
constexpr size_t kMaxExtraInputs = 256;                // each is checked against each other
constexpr size_t kMaxLabelBytes = 1024;
constexpr uint64_t kMaxJsonBytes = uint64_t{64} << 20;
constexpr uint64_t kMaxWeightBytes = uint64_t{1} << 30;
constexpr size_t kMaxListEntries = 65536;  // tensors, steps, labels

}  // namespace dvnn::network
