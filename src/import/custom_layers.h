// SPDX-License-Identifier: Apache-2.0
// Layer types that a user declares to the converter, in a JSON file:
//   {"Spread": {"params": {"amount": "float", "sizes": "int[2]", "wrap": "bool"},
//               "output": ["1", "c * count(sizes)", "h", "w"]}}
// Parameters are int, float, bool, or arrays of a number of them. The output's dimensions,
// outermost first, are whole-number expressions of + - * / ( ), the first input's n, c, h, w (or
// d0, d1, ...), int parameters by name, and count(NAME), an array's length.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"
#include "tensor/tensor.h"

namespace dvnn::import {

struct CustomLayer {
  struct Param {
    std::string name;
    std::string type;  // int, float or bool
    int count = 0;     // elements of an array; 0: a single value
  };
  std::vector<Param> params;
  std::vector<std::string> output;
  std::optional<std::pair<float, float>>
      affine;  // the layer is x * first + second, which needs no library

  /// Returns the declared parameters from `given`, with their types checked. Errors name the
  /// parameter.
  Result<Json> take_params(const Json& given) const;
  /// Returns the output's dimensions. Errors name the expression.
  Result<std::vector<int64_t>> output_dims(const Shape& input, const Json& params) const;
};

using CustomLayers = std::map<std::string, CustomLayer>;  // by type

/// Reads a declaration. Errors name the type and the field.
Result<CustomLayers> parse_custom_layers(const std::string& text);

/// Evaluates a whole-number expression; names and count(NAME) are looked up. kMalformed: syntax
/// errors and division by zero; kLimit: beyond 2^31.
Result<int64_t> evaluate(const std::string& expression,
                         const std::map<std::string, int64_t>& numbers,
                         const std::map<std::string, int64_t>& counts);

}  // namespace dvnn::import
