// SPDX-License-Identifier: Apache-2.0
// Options of how a graph is put on the device, and reports of what was decided.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "device/limits.h"

namespace dvnn::plan {

struct PlanOptions {
  bool quantise = false;     // weights of one byte; layers with PReLU, which the device does not do
                             // so, keep two
  bool measure_bits = true;  // of 8-bit weights: layers that would cost too much keep 16
  bool hwc = false;          // device buffers are kHwc8, with transposed weights; else kWhc8
  device::Limits limits;     // of the board
  bool as_vendor = false;    // refuses pictures beyond the limits, as the vendor's converter does
  bool rescale = true;       // values beyond binary16 are kept as a power of two of what they are
  // Pictures to measure values with: pixels 0..255 of each channel, row-major, in the input's size
  // and order of channels. Empty: a made-up one.
  std::vector<std::vector<float>> samples;
  const Cancellation* cancellation = nullptr;  // null: planning goes on to its end
  // Is called while it is found out which layers keep 16 bits, which takes long: how many of
  // `total` runs are done, first with 0. It may end before all of them. May be empty.
  std::function<void(size_t done, size_t total)> weighing;
};

/// Tells where a step runs and why, or what became of a layer that takes no step.
struct StepNote {
  std::string where;  // "device", "CPU", "once" (at load), "in place" (no step)
  std::string why;    // may be empty
  std::vector<std::string> layers;
};

/// Names the layers that keep weights of 16 bits where the others get 8; see weight_bits.h.
struct WeightBits {
  size_t layers = 0, kept = 0;  // with weights, and of these in 16 bits
  size_t samples = 0;           // 0: nothing was measured
  double cosine = 1;            // the least of all outputs, 8 bits against 16
};

struct PlanReport {
  std::vector<StepNote> steps;
  uint64_t io_peak_bytes = 0;  // the I/O buffer
  uint64_t io_sum_bytes = 0;   // what it would take without reuse
  int rescaled = 0;            // values that are kept as a power of two of what they are
  float largest = 0;           // magnitude of a value that was measured; 0: none was
  WeightBits bits;             // where weights were to have 8
};

}  // namespace dvnn::plan
