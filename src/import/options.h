// SPDX-License-Identifier: Apache-2.0
// The settings of front ends, beside the model's files; and inputs that get their values when the
// model is converted.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
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

/// Returns the values given for the input `name`, or null if there are none.
const GivenInput* find_given(const ImportOptions& options, const std::string& name);

/// Returns the values for an input of these dimensions. Open dimensions (-1) become the given ones,
/// or 1. kInvalidArgument if the values do not fit.
Result<std::vector<double>> fill_given(const GivenInput& given, std::vector<int64_t>* dims);

/// Refuses values for inputs that are not among `names`, the model's own.
Status check_given(const ImportOptions& options, const std::vector<std::string>& names);

/// Returns "1x3x?x?", with ? for open dimensions (-1).
std::string given_shape_text(const std::vector<int64_t>& dims);

/// Returns the error for a model with several inputs that have no values.
Error ask_for_values(const std::vector<std::string>& names);

/// Returns "'a', 'b' and 'c'", of at most a dozen names, the last ones.
std::string some_names(const std::vector<std::string>& names);

}  // namespace dvnn::import
