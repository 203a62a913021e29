// SPDX-License-Identifier: Apache-2.0
// The cases of `dvnet bench decode`: outputs of random numbers, and plain code that decodes them to
// the same objects.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/json.h"
#include "decode/decoder.h"

namespace dvnn::tools {

/// An output and how its numbers are spread: most of them are low, as a network's are.
struct BenchOutput {
  const char* name;
  Shape shape;
  float mean, spread;
  /// Makes a number of its place in the output and a random one; may be empty.
  std::function<float(size_t at, float random)> number = {};
};

/// The outputs' values, one after the other, in the order of their shapes.
using PlainOutputs = std::vector<std::vector<float>>;

struct DecodeCase {
  const char* name;
  const char* decoder;
  Json params;
  std::vector<BenchOutput> outputs;
  /// Finds objects as one writes it down at first: all numbers are transformed, every score is
  /// compared, boxes are suppressed in pairs. It returns how many there are.
  std::function<size_t(const PlainOutputs& outputs, float threshold)> plain;
};

/// Returns at least one case for each decoder but "none", which does nothing.
std::vector<DecodeCase> decode_cases();

}  // namespace dvnn::tools
