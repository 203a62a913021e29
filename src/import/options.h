// SPDX-License-Identifier: Apache-2.0
// The settings of front ends, beside the model's files.
#pragma once

#include <string>
#include <vector>

#include "import/custom_layers.h"

namespace dvnn::import {

/// Values for an input that is the same in every frame.
struct GivenInput {
  std::string name;
  std::vector<int64_t> dims;   // as in the model; empty: one number for every element
  std::vector<double> values;  // row-major
};

/// An output that the next frame takes as an input.
struct StateOption {
  std::string output, input;
  std::vector<int64_t> dims;  // of the input, instead of the model's; empty: the model's
};

struct ImportOptions {
  int width = 0, height = 0;            // of the input instead of the model's own; 0: the model's
  int open_width = 0, open_height = 0;  // of a picture whose size the model leaves open; 0: unknown
  CustomLayers custom_layers;
  // Values of all inputs but the picture, the states and the live ones, for a model with several.
  std::vector<GivenInput> inputs;
  std::vector<StateOption> states;  // beside those that are found by their names
  std::vector<std::string> live;    // inputs beside the picture that each frame brings
  // Names of the results to stop at; empty: the model's own. Nodes that only other results need are
  // left out.
  std::vector<std::string> outputs;
  // Whether values between the layers of a quantised model keep their bits instead of being
  // rounded.
  bool unrounded = false;
};

}  // namespace dvnn::import
