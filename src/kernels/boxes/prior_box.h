// SPDX-License-Identifier: Apache-2.0
// Priors, the default boxes to which an SSD's predictions refer, and Caffe-SSD's PriorBox, which
// makes them over a grid of cells.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/json_fwd.h"
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

constexpr int kMaxPriorGrid = 4096;   // cells per axis
constexpr size_t kMaxPriorList = 64;  // sizes, ratios or layers in a list

/// Caffe-SSD's PriorBoxParameter, with the sizes that its layer would read from its inputs.
struct PriorBoxParams {
  std::vector<float> min_sizes, max_sizes;  // pixels of the image; max_sizes empty or as many
  std::vector<float> aspect_ratios;         // without 1, which is always there; before `flip`
  bool flip = true;                         // adds 1/r for each r
  bool clip = false;                        // corners into [0, 1]
  std::vector<float> variances;             // 0, 1 or 4 values; default 0.1
  float image_w = 0, image_h = 0;           // pixels
  int layer_w = 0, layer_h = 0;             // grid cells
  float step_w = 0, step_h = 0;             // pixels per cell; 0: image size / layer size
  float offset = 0.5f;                      // centre of a cell, in cells
  // The dv-sdk's form of the layer: `aspect_ratios` lists all boxes of a cell. The entry at its
  // beginning is the square of the only min size if it is 1; each later 1 is the square between min
  // and max size.
  bool listed = false;
};

/// Reads parameters by Caffe-SSD's names or, if there is "img_size", by those of the dv-sdk wiki's
/// page on custom layers: img_size [w, h], min_size, max_size, aspect_ratios, variances, clip.
Result<PriorBoxParams> parse_prior_box(const Json& params);

/// Returns the parameters in the form that parse_prior_box() reads.
Json to_json(const PriorBoxParams& params);

/// Priors per grid cell.
int priors_per_cell(const PriorBoxParams& params);

/// All priors, row by row and column by column. For each min size: the square, the sqrt(min*max)
/// square, then the other aspect ratios. Source: Caffe-SSD's PriorBox layer.
std::vector<Prior> make_prior_box(const PriorBoxParams& params);

}  // namespace dvnn::kernels
