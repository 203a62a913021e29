// SPDX-License-Identifier: Apache-2.0
// Keras layers that join, reshape or do nothing when a network is used.
#include <algorithm>

#include "base/format.h"
#include "base/json.h"
#include "import/keras/layers.h"

namespace dvnn::import {
namespace {

Result<std::vector<int>> all_inputs(KerasImporter* importer, const KerasLayer& layer) {
  std::vector<int> values;
  for (const KerasTensor& tensor : layer.inputs) {
    DVNN_ASSIGN(const int value, importer->plain(layer, tensor));
    values.push_back(value);
  }
  return values;
}

// Keras' axis of a picture (N, H, W, C) as the graph's.
Result<int64_t> axis_of(const Shape& shape, int64_t axis) {
  static constexpr int64_t kPicture[] = {0, 2, 3, 1};
  if (axis < 0) axis += shape.rank;
  if (axis < 1 || axis >= shape.rank) {
    return Error{ErrorCode::kMalformed, "the axis does not exist in " + shape.to_string()};
  }
  return shape.rank == 4 ? kPicture[axis] : axis;
}

}  // namespace

Result<KerasTensor> import_identity(KerasImporter*, const KerasLayer& layer) {
  return layer.inputs[0];
}

Result<KerasTensor> import_flatten(KerasImporter* importer, const KerasLayer& layer) {
  KerasTensor tensor = layer.inputs[0];
  const Shape shape = importer->builder.shape_of(tensor.value);
  if (shape.rank == 4) {
    tensor.flat = true;
    return tensor;
  }
  if (shape.rank == 2) return tensor;
  DVNN_ASSIGN(tensor.value,
              importer->builder.reshape(layer.name, tensor.value, {1, shape.elements()}));
  return tensor;
}

namespace {

Result<KerasTensor> merged(KerasImporter* importer, const KerasLayer& layer,
                           const std::string& mode, const Json& axis) {
  DVNN_ASSIGN(const auto values, all_inputs(importer, layer));
  GraphBuilder& b = importer->builder;
  const Shape shape = b.shape_of(values[0]);
  int out = values[0];
  if (mode == "concat") {
    DVNN_ASSIGN(const int64_t along,
                axis_of(shape, axis.is_number_integer() ? axis.get<int64_t>() : -1));
    DVNN_ASSIGN(out, b.concat(layer.name, values, along));
    return KerasTensor{out, false};
  }
  for (int value : values) {
    if (b.shape_of(value) != shape) {
      return Error{ErrorCode::kUnsupported, "inputs of different shapes: " + shape.to_string() +
                                                " and " + b.shape_of(value).to_string()};
    }
  }
  if (mode == "sum") {
    for (size_t i = 1; i < values.size(); ++i) {
      const bool last = i + 1 == values.size();
      DVNN_ASSIGN(out,
                  b.sum(last ? layer.name : layer.name + "_" + std::to_string(i), out, values[i]));
    }
    return KerasTensor{out, false};
  }
  layers::EltwiseAttributes attributes;
  if (mode == "mul") attributes.operation = layers::EltwiseOperation::kProduct;
  if (mode == "max") attributes.operation = layers::EltwiseOperation::kMax;
  if (mode == "ave")
    attributes.coeff.assign(values.size(), 1.0f / static_cast<float>(values.size()));
  if (mode == "sub") attributes.coeff = {1.0f, -1.0f};
  if (mode == "sub" && values.size() != 2) return Error{ErrorCode::kMalformed, "needs two inputs"};
  DVNN_ASSIGN(out, b.cpu(layer.name, std::move(attributes), values));
  return KerasTensor{out, false};
}

}  // namespace

Result<KerasTensor> import_merge(KerasImporter* importer, const KerasLayer& layer) {
  static const std::map<std::string, std::string> kModes = {
      {"Add", "sum"},     {"Average", "ave"},  {"Concatenate", "concat"},
      {"Maximum", "max"}, {"Multiply", "mul"}, {"Subtract", "sub"}};
  return merged(importer, layer, kModes.at(layer.class_name), keras_option(layer.config, {"axis"}));
}

// Keras 1.
Result<KerasTensor> import_merge_mode(KerasImporter* importer, const KerasLayer& layer) {
  const Json& mode = keras_option(layer.config, {"mode"});
  for (const char* known : {"sum", "concat", "mul", "ave", "max"}) {
    if (mode == known) {
      return merged(importer, layer, known, keras_option(layer.config, {"concat_axis"}));
    }
  }
  return Error{ErrorCode::kUnsupported, "mode " + shown(mode) + " is not supported"};
}

Result<KerasTensor> import_zero_padding(KerasImporter* importer, const KerasLayer& layer) {
  DVNN_ASSIGN(const int in, importer->plain(layer, layer.inputs[0]));
  // One number, (y, x), or ((top, bottom), (left, right)); Keras 1: (y, x) or four.
  const Json& padding = keras_option(layer.config, {"padding"});
  std::vector<Json> sides = {1, 1};
  if (padding.is_array()) sides.assign(padding.begin(), padding.end());
  if (padding.is_number_integer()) sides = {padding, padding};
  std::vector<int64_t> p;
  if (sides.size() == 4) {
    for (const Json& side : sides) {
      DVNN_ASSIGN(const auto pair, keras_pair(side, 0));
      p.push_back(pair[0]);
    }
  } else if (sides.size() == 2) {
    for (const Json& side : sides) {
      DVNN_ASSIGN(const auto pair, keras_pair(side, 0));
      p.insert(p.end(), pair.begin(), pair.end());
    }
  } else {
    return Error{ErrorCode::kMalformed, shown(padding) + " is no padding"};
  }
  DVNN_ASSIGN(const int out, importer->builder.pad(layer.name, in, p[2], p[3], p[0], p[1]));
  return KerasTensor{out, false};
}

Result<KerasTensor> import_up_sampling(KerasImporter* importer, const KerasLayer& layer) {
  DVNN_ASSIGN(const int in, importer->plain(layer, layer.inputs[0]));
  DVNN_ASSIGN(const auto size, keras_pair(keras_option(layer.config, {"size"}), 2));
  const Json& mode = keras_option(layer.config, {"interpolation"});
  if ((!mode.is_null() && mode != "nearest") || size[0] != size[1]) {
    return Error{ErrorCode::kUnsupported, "the device repeats pixels (nearest) by 2, 4, 8"};
  }
  int value = in;
  int64_t left = size[0];
  for (int step = 1; left > 1 && left % 2 == 0; ++step, left /= 2) {
    DVNN_ASSIGN(value,
                importer->builder.upsample2(
                    left == 2 ? layer.name : layer.name + "_" + std::to_string(step), value));
  }
  if (left != 1) {
    return Error{ErrorCode::kUnsupported, "the device repeats pixels (nearest) by 2, 4, 8"};
  }
  return KerasTensor{value, false};
}

Result<KerasTensor> import_reshape(KerasImporter* importer, const KerasLayer& layer) {
  const KerasTensor& tensor = layer.inputs[0];
  GraphBuilder& b = importer->builder;
  const Shape shape = b.shape_of(tensor.value);
  // Reshaping is by Keras' order: a picture is flattened first.
  KerasTensor flat = tensor;
  flat.flat = tensor.flat || shape.rank == 4;
  DVNN_ASSIGN(const int value, importer->plain(layer, flat));
  const Json& target = keras_option(layer.config, {"target_shape"});
  std::vector<int64_t> dims = {1};
  int64_t known = 1;
  size_t open = 0;
  for (const Json& d : target) {
    const int64_t extent = d.is_number_integer() ? d.get<int64_t>() : 0;
    if (extent == -1 && open == 0) {
      open = dims.size();
    } else if (extent < 1 || extent > shape.elements() || (known *= extent) > shape.elements()) {
      return Error{ErrorCode::kMalformed, "target_shape " + shown(target) + " does not fit"};
    }
    dims.push_back(extent);
  }
  if (open > 0) dims[open] = shape.elements() / known;
  DVNN_ASSIGN(const int reshaped, b.reshape(layer.name, value, dims));
  if (dims.size() != 4) return KerasTensor{reshaped, false};
  DVNN_ASSIGN(const int picture, b.permute(layer.name + "_chw", reshaped, {0, 3, 1, 2}));
  return KerasTensor{picture, false};
}

Result<KerasTensor> import_permute(KerasImporter* importer, const KerasLayer& layer) {
  DVNN_ASSIGN(const int in, importer->plain(layer, layer.inputs[0]));
  GraphBuilder& b = importer->builder;
  const Json& dims = keras_option(layer.config, {"dims"});
  std::vector<int64_t> order = {0};
  for (const Json& d : dims) order.push_back(d.is_number_integer() ? d.get<int64_t>() : -1);
  if (b.shape_of(in).rank != 4) {
    DVNN_ASSIGN(const int out, b.permute(layer.name, in, order));
    return KerasTensor{out, false};
  }
  // Axis i of the new (N, H, W, C) is axis order[i] of the old one.
  if (order.size() != 4 || *std::min_element(order.begin() + 1, order.end()) < 1 ||
      *std::max_element(order.begin(), order.end()) > 3) {
    return Error{ErrorCode::kMalformed, "dims " + shown(dims) + " does not name each axis once"};
  }
  static constexpr int64_t kPicture[] = {0, 2, 3, 1};
  const std::vector<int64_t> own = {0, kPicture[order[3]], kPicture[order[1]], kPicture[order[2]]};
  DVNN_ASSIGN(const int out, b.permute(layer.name, in, own));
  return KerasTensor{out, false};
}

}  // namespace dvnn::import
