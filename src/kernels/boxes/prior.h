// SPDX-License-Identifier: Apache-2.0
// Boxes as networks predict them, relative to priors. For their overlap, see suppression.h.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kernels/boxes/box.h"

namespace dvnn::kernels {

/// A box of one class with its score: the result of suppression.
struct ScoredBox {
  Box box;
  float score = 0;
  int class_id = 0;
};

/// A default box and the variances that scale its regression targets.
struct Prior {
  Box box;
  std::array<float, 4> variance{{0.1f, 0.1f, 0.2f, 0.2f}};
};

/// Returns the 4 variances of a model that lists 4, or 1 for all; `fallback` if it lists none.
std::array<float, 4> expand_variances(const std::vector<float>& v, std::array<float, 4> fallback);

/// The relation of a location prediction (4 numbers) to its prior. Source: Liu et al., "SSD: Single
/// Shot MultiBox Detector" (2016), and Caffe-SSD's PriorBoxParameter.CodeType.
enum class CodeType : uint8_t {
  kCorner,      // corner = prior corner + variance * delta
  kCenterSize,  // centre = prior centre + variance * delta * size; size = prior size * exp(...)
  kCornerSize,  // corner = prior corner + variance * delta * prior size
  kLinear,      // centre as kCenterSize has it; size = variance * delta * prior size (BlazeFace)
};
const char* name_of(CodeType type);
Result<CodeType> parse_code_type(std::string_view text);  // by name: "corner_size"

/// Returns the box that `delta` (4 floats) predicts for `prior`.
Box decode_box(CodeType type, const Prior& prior, const float* delta);

/// Returns whether all corners are finite: networks may return NaN and infinities.
bool is_finite(const Box& box);

}  // namespace dvnn::kernels
