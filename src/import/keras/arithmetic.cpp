// SPDX-License-Identifier: Apache-2.0
// Keras layers that join several inputs, and those that multiply and add along an axis.
#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "base/json.h"
#include "import/keras/layers.h"

namespace dvnn::import {
namespace {

using kernels::Operation;

// Brings inputs of the same rank to the same form.
Status align_forms(KerasImporter* importer, const KerasLayer& layer,
                   std::vector<KerasTensor>* inputs) {
  const auto rows = std::count_if(inputs->begin(), inputs->end(),
                                  [](const KerasTensor& tensor) { return tensor.row; });
  if (rows == 0 || rows == static_cast<std::ptrdiff_t>(inputs->size())) return {};
  for (size_t i = 0; i < inputs->size(); ++i) {
    DVNN_ASSIGN((*inputs)[i], importer->as_row(layer.name + "_" + std::to_string(i), (*inputs)[i]));
  }
  return {};
}

constexpr int kVector = 2, kSequence = 3, kPicture = 4;

// Returns a tensor of `rank` dimensions with dimensions of 1 added after the batch, up to `most`,
// in Keras' order.
Result<int> spread(KerasImporter* importer, const std::string& name, const KerasTensor& tensor,
                   int rank, int most) {
  GraphBuilder& b = importer->builder;
  DVNN_ASSIGN(const KerasTensor sequence, importer->as_sequence(name, tensor));
  int value = sequence.value;
  if (rank == kPicture) {
    DVNN_ASSIGN(value, b.permute(name + "_hwc", value, {0, 2, 3, 1}));
  }
  const Shape shape = b.shape_of(value);
  std::vector<int64_t> dims(static_cast<size_t>(most - rank) + 1, 1);
  for (int axis = 1; axis < rank; ++axis) dims.push_back(shape[axis]);
  return b.reshape(name + "_spread", value, dims);
}

// Adds dimensions of 1 after the batch to inputs with fewer dimensions, as Keras does.
Status align_ranks(KerasImporter* importer, const KerasLayer& layer,
                   std::vector<KerasTensor>* inputs) {
  GraphBuilder& b = importer->builder;
  int most = 0;
  bool row = false;
  for (const KerasTensor& tensor : *inputs) {
    most = std::max(most, importer->rank(tensor));
    row |= tensor.row;
  }
  row &= most == kSequence;
  for (size_t i = 0; i < inputs->size(); ++i) {
    KerasTensor& tensor = (*inputs)[i];
    const int rank = importer->rank(tensor);
    if (rank == most && tensor.row == row) continue;
    const std::string name = layer.name + "_" + std::to_string(i);
    if (most != kPicture && !row) {
      DVNN_ASSIGN(tensor.value, spread(importer, name, tensor, rank, most));
    } else if (rank == kSequence) {
      DVNN_ASSIGN(tensor, importer->as_row(name, tensor));
    } else if (rank == kVector) {
      const int64_t channels = b.shape_of(tensor.value)[1];
      DVNN_ASSIGN(tensor.value, b.reshape(name + "_spread", tensor.value, {1, channels, 1, 1}));
    }
    tensor.row = row;
  }
  return {};
}

Result<KerasTensor> concatenated(KerasImporter* importer, const KerasLayer& layer,
                                 std::vector<KerasTensor> inputs, const Json& axis) {
  DVNN_TRY(align_forms(importer, layer, &inputs));
  KerasLayer along = layer;
  along.config = {{"axis", axis}};
  DVNN_ASSIGN(const int place, keras_axis(*importer, along, inputs[0]));
  std::vector<int> values;
  for (const KerasTensor& tensor : inputs) values.push_back(tensor.value);
  DVNN_ASSIGN(const int out, importer->builder.concat(layer.name, values, place));
  return inputs[0].with(out);
}

Operation operation_of(const std::string& mode) {
  return mode == "mul"   ? Operation::kMul
         : mode == "max" ? Operation::kMax
         : mode == "sub" ? Operation::kSub
                         : Operation::kAdd;
}

// Merges inputs one after the other, with NumPy's broadcasting.
Result<int> folded(KerasImporter* importer, const KerasLayer& layer, const std::string& mode,
                   const std::vector<int>& values) {
  GraphBuilder& b = importer->builder;
  const Operation operation = operation_of(mode);
  int out = values[0];
  for (size_t i = 1; i < values.size(); ++i) {
    const bool last = i + 1 == values.size() && mode != "ave";
    const std::string name = last ? layer.name : layer.name + "_" + std::to_string(i);
    if (operation == Operation::kAdd) {
      DVNN_ASSIGN(out, b.sum(name, out, values[i]));
    } else {
      DVNN_ASSIGN(out, b.binary(name, operation, out, values[i]));
    }
  }
  if (mode != "ave") return out;
  const auto channels = static_cast<size_t>(b.shape_of(out)[1]);
  return b.affine(layer.name, out,
                  std::vector<float>(channels, 1.0f / static_cast<float>(values.size())),
                  std::vector<float>(channels, 0.0f));
}

Result<KerasTensor> merged(KerasImporter* importer, const KerasLayer& layer,
                           const std::string& mode, const Json& axis) {
  std::vector<KerasTensor> inputs;
  for (const KerasTensor& input : layer.inputs) {
    DVNN_ASSIGN(const KerasTensor tensor, importer->tensor(layer, input));
    inputs.push_back(tensor);
  }
  if (mode == "concat") return concatenated(importer, layer, std::move(inputs), axis);
  if (mode == "sub" && inputs.size() != 2) return malformed("needs two inputs");
  DVNN_TRY(align_ranks(importer, layer, &inputs));
  GraphBuilder& b = importer->builder;
  const Shape shape = b.shape_of(inputs[0].value);
  std::vector<int> values;
  bool alike = true;
  for (const KerasTensor& tensor : inputs) {
    values.push_back(tensor.value);
    alike &= b.shape_of(tensor.value) == shape;
  }
  if (!alike || mode == "sum") {
    DVNN_ASSIGN(const int out, folded(importer, layer, mode, values));
    return inputs[0].with(out);
  }
  std::vector<float> coefficients;
  if (mode == "ave") coefficients.assign(values.size(), 1.0f / static_cast<float>(values.size()));
  if (mode == "sub") coefficients = {1.0f, -1.0f};
  const Operation operation = coefficients.empty() ? operation_of(mode) : Operation::kAdd;
  DVNN_ASSIGN(const int out, b.combined(layer.name, operation, coefficients, values));
  return inputs[0].with(out);
}

}  // namespace

Result<KerasTensor> import_merge(KerasImporter* importer, const KerasLayer& layer) {
  static const std::map<std::string, std::string> kModes = {
      {"Add", "sum"},     {"Average", "ave"},  {"Concatenate", "concat"},
      {"Maximum", "max"}, {"Multiply", "mul"}, {"Subtract", "sub"}};
  return merged(importer, layer, kModes.at(layer.class_name), keras_option(layer.config, {"axis"}));
}

// Imports the Merge layer of Keras 1.
Result<KerasTensor> import_merge_mode(KerasImporter* importer, const KerasLayer& layer) {
  const Json& mode = keras_option(layer.config, {"mode"});
  for (const char* known : {"sum", "concat", "mul", "ave", "max"}) {
    if (mode == known) {
      return merged(importer, layer, known, keras_option(layer.config, {"concat_axis"}));
    }
  }
  return unsupported("mode " + shown(mode) + " is not supported");
}

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
