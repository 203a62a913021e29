// SPDX-License-Identifier: Apache-2.0
// Plans a graph as a network: passes rewrite it, and what they leave becomes a model: layouts,
// steps, packed weights, memory. Options of that, and reports of its decisions.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/result.h"
#include "device/limits.h"
#include "network/model.h"
#include "plan/graph/graph.h"

namespace dvnn::plan {

struct PlanOptions {
  bool quantise = false;     // weights of one byte; two for layers with PReLU, a device's limit
  bool measure_bits = true;  // of 8-bit weights: layers whose error is too large keep 16 bits
  bool hwc = false;          // device buffers are kHwc8, with transposed weights; else kWhc8
  device::Limits limits;     // of the board
  bool as_vendor = false;    // refuses pictures beyond the limits, as the vendor's converter does
  bool rescale = true;       // values beyond binary16 are stored divided by a power of two
  // Pictures to measure values with: pixels 0..255 of each channel, row-major, in the input's size
  // and order of channels. Empty: a made-up one.
  std::vector<std::vector<float>> samples;
  const Cancellation* cancellation = nullptr;  // null: planning cannot be cancelled
  // Called while layers that keep 16 bits are searched, which takes long: `done` of `total` runs
  // are done, first 0. It may end before all of them. May be empty.
  std::function<void(size_t done, size_t total)> weighing;
};

/// Where a step runs and why, or what became of a layer without a step.
struct StepNote {
  std::string where;  // "device", "CPU", "once" (at load), "in place" (no step)
  std::string why;    // may be empty
  std::vector<std::string> layers;
};

/// Which layers keep weights of 16 bits while the others get 8; see choose_weight_bits().
struct WeightBits {
  size_t layers = 0, kept = 0;  // number of layers with weights, and of those that keep 16 bits
  size_t samples = 0;           // 0: nothing was measured
  double cosine = 1;            // the smallest of all outputs, with 8 bits against 16
};

/// Channels of convolutions' results, and how many of them were left out, as no output needs them.
struct UnreadChannels {
  int channels = 0, dropped = 0;
};

struct PlanReport {
  std::vector<StepNote> steps;
  uint64_t io_peak_bytes = 0;  // size of the I/O buffer
  uint64_t io_sum_bytes = 0;   // its size without reuse of memory
  int rescaled = 0;            // number of values stored divided by a power of two
  float largest = 0;           // largest measured magnitude of a value; 0: nothing was measured
  WeightBits bits;             // if weights were to have 8 bits
  UnreadChannels unread;
};

/// Runs all passes and assembles the model, which keeps what replan() needs. `picture`: how
/// pictures become the graph's input; `report` may be null.
Result<network::Model> plan(Graph graph, const PlanOptions& options, InputSpec picture,
                            PlanReport* report);

/// Makes a model from the rewritten graph. It has the places of the weights of saved nodes, but not
/// the saved graph. Errors name the layer, the value and the device's limit. `report` may be null.
Result<network::Model> assemble(const Graph& graph, const PlanOptions& options,
                                const InputSpec& picture, PlanReport* report);

}  // namespace dvnn::plan
