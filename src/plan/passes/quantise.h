// SPDX-License-Identifier: Apache-2.0
// Stores weights as one byte each: an index into a table of 256 values.
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/half.h"

namespace dvnn::plan {

struct QuantisedWeights {
  std::vector<half_t> table;  // 256: zero, then up to 255 centres, ascending; unused ones are zero
  std::vector<uint8_t> indices;  // one per weight
};

/// Clusters the weights of one layer by 1-D k-means (Lloyd's algorithm) into at most 255 centres,
/// as the dv-sdk converter does. Weights that are exactly zero stay zero, which that converter does
/// not promise. The result depends on the weights alone.
QuantisedWeights quantise(const std::vector<float>& weights);

/// Returns whether the weights take so few different values, and are so many, that bytes store them
/// exactly and in less space. This holds for models that were quantised before.
bool are_bytes(const std::vector<half_t>& weights);

}  // namespace dvnn::plan
