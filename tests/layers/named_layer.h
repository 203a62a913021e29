// SPDX-License-Identifier: Apache-2.0
// CPU layers by their type's name and JSON parameters, as files have them.
#pragma once

#include <string>
#include <utility>

#include "base/json.h"
#include "layers/attributes.h"

namespace dvnn::test {

inline layers::LayerResult create_layer(const std::string& type, const Json& params,
                                        Span<const TensorDesc> inputs,
                                        Span<const TensorDesc> outputs,
                                        const layers::CustomLibrary* library = nullptr) {
  DVNN_ASSIGN(const layers::LayerAttributes attributes, layers::parse_layer(type, params));
  return layers::create_cpu_layer(attributes, inputs, outputs, library);
}

/// Returns parameters of an Elementwise with one step: a function of one input, or of two.
inline Json function_of(const std::string& name, float a = 0, float b = 0) {
  return {{"inputs", 1}, {"steps", {{{"function", name}, {"of", {0}}, {"a", a}, {"b", b}}}}};
}
inline Json operation_of(const std::string& name) {
  return {{"inputs", 2}, {"steps", {{{"function", name}, {"of", {0, 1}}}}}};
}

/// Creates a layer; the parameters must be valid.
inline layers::LayerPtr layer_of(const std::string& type, const Json& params) {
  return layers::read_layer(type, &params).value();
}

}  // namespace dvnn::test
