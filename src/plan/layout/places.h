// SPDX-License-Identifier: Apache-2.0
// The law of places: a value shares another one's memory only if the addresses of its elements
// allow it. The placer and every pass that relies on places ask here.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tensor/tensor.h"

namespace dvnn::plan {

/// Elements begin[i], begin[i] + step[i], ... along each axis i of a tensor; a step may be
/// negative. The number of elements is the shape of the part.
struct Section {
  std::vector<int> begin, step;
};

/// Returns the offset in bytes of `part` within `whole`, if each element of `part`, which consists
/// of the elements of `section`, has the same address in both. Null if an address differs, the
/// types differ, the section exceeds the whole, or the device could not address the part (binary16
/// at a byte that is no multiple of 16).
std::optional<uint64_t> lies_within(const TensorDesc& whole, const Section& section,
                                    const TensorDesc& part);

/// Returns whether element i of `a` and of `b`, both counted row-major in their own shape, have the
/// same address for every i: then one is a reshape of the other that moves nothing.
bool same_addresses(const TensorDesc& a, const TensorDesc& b);

}  // namespace dvnn::plan
