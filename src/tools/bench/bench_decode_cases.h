// SPDX-License-Identifier: Apache-2.0
// Cases of `dvnet bench decode`: outputs of random numbers, and simple code that decodes them to
// the same objects.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/json.h"
#include "decode/decoder.h"

namespace dvnn::tools {

/// An output with the distribution of its numbers, most of which are low, as in real outputs.
struct BenchOutput {
  const char* name;
  Shape shape;
  float mean, spread;
  /// Returns the number at an index of the output, given a random number; may be empty.
  std::function<float(size_t at, float random)> number = {};
};

/// Values of the outputs, one vector each, in the order of their shapes.
using PlainOutputs = std::vector<std::vector<float>>;

struct DecodeCase {
  const char* name;
  const char* decoder;
  Json params;
  std::vector<BenchOutput> outputs;
  /// Decodes in the simplest way: activates all numbers, compares every score, and suppresses boxes
  /// in pairs. Returns the number of objects.
  std::function<size_t(const PlainOutputs& outputs, float threshold)> plain;
};

/// Returns at least one case for each decoder but "none", which does nothing.
std::vector<DecodeCase> decode_cases();

}  // namespace dvnn::tools
