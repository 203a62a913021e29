// SPDX-License-Identifier: Apache-2.0
// Inputs that get their values when the model is converted.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "import/options.h"

namespace dvnn::import {

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
