// SPDX-License-Identifier: Apache-2.0
// Rotary positions: pairs of a head's numbers are turned by an angle that follows from their
// token's place. Source: Su et al., "RoFormer" (2021). Private to the ONNX front end.
#pragma once

#include "import/onnx/import.h"

namespace dvnn::import {

struct Rotary {
  bool interleaved = false;  // pairs are neighbours, else one of each half
  // Numbers of each place, or of each token, and the tokens' places: null where token i is at i, or
  // has the i-th row.
  std::shared_ptr<const OnnxConstant> cosines, sines, places;
};

/// (1, heads, tokens, numbers) with the first of these turned, twice as many as there are angles.
Result<int> turned_by_place(const OnnxNode& node, const std::string& name, int in,
                            const Rotary& rotary);

}  // namespace dvnn::import
