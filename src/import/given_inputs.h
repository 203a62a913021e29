// SPDX-License-Identifier: Apache-2.0
// Inputs that get their values when the model is converted.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "import/options.h"

namespace dvnn::import {

/// The values given for the input `name`; null if there are none.
const GivenInput* find_given(const ImportOptions& options, const std::string& name);

/// The values for an input of these dimensions, of which those that are open (-1) become the given
/// ones, or 1. kInvalidArgument if they do not fit.
Result<std::vector<double>> fill_given(const GivenInput& given, std::vector<int64_t>* dims);

/// Refuses values for inputs that are not among `names`, the model's own.
Status check_given(const ImportOptions& options, const std::vector<std::string>& names);

/// "1x3x?x?", where -1 is open.
std::string given_shape_text(const std::vector<int64_t>& dims);

/// The error for a model with several inputs that have no values.
Error ask_for_values(const std::vector<std::string>& names);

/// "'a', 'b' and 'c'", of at most a dozen names, the last ones.
std::string some_names(const std::vector<std::string>& names);

}  // namespace dvnn::import
