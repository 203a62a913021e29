// SPDX-License-Identifier: Apache-2.0
// Keras layers that multiply and add along an axis.
#include <cmath>

#include "base/format.h"
#include "base/json.h"
#include "import/keras/layers.h"

namespace dvnn::import {

Result<KerasTensor> import_batch_norm(KerasImporter* importer, const KerasLayer& layer) {
  DVNN_ASSIGN(const KerasTensor in, importer->tensor(layer, layer.inputs[0]));
  DVNN_ASSIGN(const int axis, keras_axis(*importer, layer, in));
  // Modes 1 and 2 of Keras 1 use the statistics of the input itself.
  const Json& mode = keras_option(layer.config, {"mode"});
  if (keras_number(mode, 0) != 0) {
    return unsupported("mode " + shown(mode) + " is not supported (0 is)");
  }
  const int64_t count = importer->builder.shape_of(in.value)[axis];
  const bool scales = keras_flag(keras_option(layer.config, {"scale"}), true);
  const bool centres = keras_flag(keras_option(layer.config, {"center"}), true);
  const size_t first = (scales ? 1u : 0u) + (centres ? 1u : 0u);
  for (size_t i = 0; i < first + 2; ++i) DVNN_TRY(keras_check_weights(layer, i, {count}));
  const double epsilon = keras_number(keras_option(layer.config, {"epsilon"}), 1e-3);
  const std::vector<float>&mean = layer.weights[first].values,
        &variance = layer.weights[first + 1].values;
  std::vector<float> scale(mean.size()), bias(mean.size());
  for (size_t c = 0; c < mean.size(); ++c) {
    const double v = double{variance[c]} + epsilon;
    if (!(v > 0)) return malformed(format("variance of channel %zu is not positive", c));
    const double gamma = scales ? double{layer.weights[0].values[c]} : 1.0;
    const double beta = centres ? double{layer.weights[scales ? 1 : 0].values[c]} : 0.0;
    scale[c] = static_cast<float>(gamma / std::sqrt(v));
    bias[c] = static_cast<float>(beta - double{mean[c]} * gamma / std::sqrt(v));
  }
  DVNN_ASSIGN(const int out, importer->affine_along(layer.name, in.value, axis, std::move(scale),
                                                    std::move(bias)));
  return in.with(out);
}

namespace {

// Returns a number for each index of the last axis, or one for all.
Result<std::vector<float>> along_last(const KerasLayer& layer, const char* key, size_t count,
                                      float fallback) {
  const Json& numbers = keras_option(layer.config, {key});
  if (numbers.is_null()) return std::vector<float>(count, fallback);
  if (numbers.is_number()) return std::vector<float>(count, numbers.get<float>());
  std::vector<float> values;
  for (const Json& n : numbers) {
    if (n.is_number()) values.push_back(n.get<float>());
  }
  if (values.size() == 1) values.resize(count, values[0]);
  if (numbers.is_array() && values.size() == count) return values;
  return unsupported(std::string(key) + " " + shown(numbers) +
                     format(" is no number, and no list of %zu", count));
}

}  // namespace

Result<KerasTensor> import_rescaling(KerasImporter* importer, const KerasLayer& layer) {
  DVNN_ASSIGN(const KerasTensor in, importer->tensor(layer, layer.inputs[0]));
  const Shape shape = importer->builder.shape_of(in.value);
  const int axis = importer->graph_axis(in, importer->rank(in) - 1);
  const auto count = static_cast<size_t>(shape[axis]);
  DVNN_ASSIGN(auto scale, along_last(layer, "scale", count, 1));
  DVNN_ASSIGN(auto offset, along_last(layer, "offset", count, 0));
  DVNN_ASSIGN(const int out, importer->affine_along(layer.name, in.value, axis, std::move(scale),
                                                    std::move(offset)));
  return in.with(out);
}

}  // namespace dvnn::import
