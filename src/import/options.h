// SPDX-License-Identifier: Apache-2.0
// The settings of front ends, beside the model's files.
#pragma once

#include <string>
#include <vector>

#include "import/custom_layers.h"

namespace dvnn::import {

/// Numbers for an input that is the same in every frame.
struct GivenInput {
  std::string name;
  std::vector<int64_t> dims;   // as the model has them; none: one number for every element
  std::vector<double> values;  // row-major
};

struct ImportOptions {
  int width = 0, height = 0;            // of the input instead of the model's own; 0: the model's
  int open_width = 0, open_height = 0;  // of a picture whose size the model leaves open; 0: unknown
  CustomLayers custom_layers;
  // The values of all inputs but one, which is the picture, of a model with several.
  std::vector<GivenInput> inputs;
  // The results to stop at, by name; none: the model's own. What only other results need is left
  // out.
  std::vector<std::string> outputs;
};

}  // namespace dvnn::import
