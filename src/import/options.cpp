// SPDX-License-Identifier: Apache-2.0
#include "import/options.h"

#include <algorithm>

#include "base/format.h"

namespace dvnn::import {
namespace {

// The values become constants of the network file: no model needs more given by hand.
constexpr int64_t kMostValues = int64_t{1} << 26;

}  // namespace

std::string given_shape_text(const std::vector<int64_t>& dims) {
  std::string text;
  for (int64_t d : dims) text += (text.empty() ? "" : "x") + (d < 0 ? "?" : std::to_string(d));
  return text.empty() ? "a number" : text;
}

const GivenInput* find_given(const ImportOptions& options, const std::string& name) {
  for (const GivenInput& given : options.inputs) {
    if (given.name == name) return &given;
  }
  return nullptr;
}

Result<std::vector<double>> fill_given(const GivenInput& given, std::vector<int64_t>* dims) {
  const std::vector<int64_t> declared = *dims;
  const bool one = given.dims.empty();
  bool fits = one || given.dims.size() == dims->size();
  int64_t count = 1;
  for (size_t i = 0; fits && i < dims->size(); ++i) {
    int64_t& d = (*dims)[i];
    if (d < 0) d = one ? 1 : given.dims[i];
    fits = d > 0 && (one || d == given.dims[i]) && count <= kMostValues / d;
    count *= fits ? d : 1;
  }
  fits =
      fits && (one ? given.values.size() == 1 : given.values.size() == static_cast<size_t>(count));
  if (!fits) {
    return invalid_argument("--set " + given.name + ": the input is " + given_shape_text(declared) +
                            ", the values are " + given_shape_text(given.dims));
  }
  if (!one) return given.values;
  return std::vector<double>(static_cast<size_t>(count), given.values[0]);
}

Status check_given(const ImportOptions& options, const std::vector<std::string>& names) {
  for (const GivenInput& given : options.inputs) {
    if (std::find(names.begin(), names.end(), given.name) != names.end()) continue;
    return invalid_argument("--set " + given.name + ": the model has no such input, it has " +
                            some_names(names));
  }
  return {};
}

Error ask_for_values(const std::vector<std::string>& names) {
  return unsupported(
      format("has %zu inputs, %s: give all but one of them values with --set NAME=VALUE, "
             "name states with --state OUT=IN and inputs that each frame brings with --live "
             "NAME, or cut the model with --outputs",
             names.size(), some_names(names).c_str()));
}

std::string some_names(const std::vector<std::string>& names) {
  constexpr size_t kMost = 12;
  const size_t first = names.size() > kMost ? names.size() - kMost : 0;
  std::string text = first > 0 ? "among others " : "";
  for (size_t i = first; i < names.size(); ++i) {
    if (i > first) text += i + 1 == names.size() ? " and " : ", ";
    text += "'" + names[i] + "'";
  }
  return text.empty() ? "none" : text;
}

}  // namespace dvnn::import
