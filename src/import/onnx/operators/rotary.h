// SPDX-License-Identifier: Apache-2.0
// Rotary positions: pairs of a head's numbers are rotated by an angle that depends on their token's
// position. Source: Su et al., "RoFormer" (2021). Private to the ONNX front end.
#pragma once

#include "import/onnx/import.h"

namespace dvnn::import {

struct Rotary {
  bool interleaved = false;  // pairs of neighbours, else one number from each half
  // Numbers for each position, or for each token, and the tokens' positions: null if token i is at
  // position i, or has row i.
  std::shared_ptr<const OnnxConstant> cosines, sines, places;
};

/// Rotates (1, heads, tokens, numbers): of the numbers, the first ones, two per angle.
Result<int> turned_by_place(const OnnxNode& node, const std::string& name, int in,
                            const Rotary& rotary);

}  // namespace dvnn::import
