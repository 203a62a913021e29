// SPDX-License-Identifier: Apache-2.0
// Caffe-SSD's PriorBox: default boxes over a grid of cells.
#pragma once

#include <cstddef>
#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"
#include "kernels/boxes/prior.h"

namespace dvnn::kernels {

constexpr int kMaxPriorGrid = 4096;   // cells per axis
constexpr size_t kMaxPriorList = 64;  // sizes, ratios or layers in a list

/// Caffe-SSD's PriorBoxParameter, with the sizes that the layer would read off its inputs.
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
  // The dv-sdk's form of the layer: `aspect_ratios` is the whole list of a cell's boxes, in which
  // the first 1 stands for the square of the only min size, and each further 1 for the square
  // between min and max.
  bool listed = false;
};

/// Parameters as Caffe-SSD names them, or, where there is "img_size", as the dv-sdk wiki's page on
/// custom layers does: img_size [w, h], min_size, max_size, aspect_ratios, variances, clip.
Result<PriorBoxParams> parse_prior_box(const Json& params);

/// The parameters in the form that parse_prior_box() reads.
Json to_json(const PriorBoxParams& params);

/// Priors per grid cell.
int priors_per_cell(const PriorBoxParams& params);

/// All priors, row by row and column by column. For each min size: the square, the sqrt(min*max)
/// square, then the other aspect ratios. Source: Caffe-SSD's PriorBox layer.
std::vector<Prior> make_prior_box(const PriorBoxParams& params);

}  // namespace dvnn::kernels
