// SPDX-License-Identifier: Apache-2.0
// Keras layers that reshape, or that do nothing in inference.
#include <algorithm>

#include "base/json.h"
#include "import/keras/layers.h"

namespace dvnn::import {

Result<KerasTensor> import_identity(KerasImporter*, const KerasLayer& layer) {
  return layer.inputs[0];
}

Result<KerasTensor> import_flatten(KerasImporter* importer, const KerasLayer& layer) {
  KerasTensor tensor = layer.inputs[0];
  const Shape shape = importer->builder.shape_of(tensor.value);
  if (shape.rank == 4) {
    tensor.flat = true;
    tensor.row = false;
    return tensor;
  }
  if (shape.rank == 2) return tensor;
  DVNN_ASSIGN(tensor.value,
              importer->builder.reshape(layer.name, tensor.value, {1, shape.elements()}));
  return tensor;
}

Result<KerasTensor> import_reshape(KerasImporter* importer, const KerasLayer& layer) {
  const KerasTensor& tensor = layer.inputs[0];
  GraphBuilder& b = importer->builder;
  const Shape shape = b.shape_of(tensor.value);
  // Reshaping follows Keras' order, so a picture is flattened first.
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
      return malformed("target_shape " + shown(target) + " does not fit");
    }
    dims.push_back(extent);
  }
  if (open > 0) dims[open] = shape.elements() / known;
  DVNN_ASSIGN(const int reshaped, b.reshape(layer.name, value, dims));
  if (dims.size() != 4) return KerasTensor{reshaped, false, false};
  DVNN_ASSIGN(const int picture, b.permute(layer.name + "_chw", reshaped, {0, 3, 1, 2}));
  return KerasTensor{picture, false, false};
}

Result<KerasTensor> import_permute(KerasImporter* importer, const KerasLayer& layer) {
  DVNN_ASSIGN(const KerasTensor in, importer->tensor(layer, layer.inputs[0]));
  const int rank = importer->rank(in);
  const Json& dims = keras_option(layer.config, {"dims"});
  std::vector<int> order;
  for (const Json& d : dims) {
    const int64_t axis = d.is_number_integer() ? d.get<int64_t>() : 0;
    order.push_back(axis >= 1 && axis < rank ? static_cast<int>(axis) : 0);
  }
  std::vector<bool> named(static_cast<size_t>(rank), false);
  for (int axis : order) named[static_cast<size_t>(axis)] = axis > 0;
  if (static_cast<int>(order.size()) != rank - 1 ||
      std::count(named.begin(), named.end(), true) != rank - 1) {
    return malformed("dims " + shown(dims) + " does not name each axis once");
  }
  // Axis i + 1 of the result is axis order[i] of the input, both as Keras counts them.
  const size_t axes = importer->builder.shape_of(in.value).axes();
  std::vector<int64_t> own(axes);
  for (size_t i = 0; i < axes; ++i) own[i] = static_cast<int64_t>(i);
  for (size_t i = 0; i < order.size(); ++i) {
    const int to = importer->graph_axis(in, static_cast<int>(i) + 1);
    own[static_cast<size_t>(to)] = importer->graph_axis(in, order[i]);
  }
  DVNN_ASSIGN(const int out, importer->builder.permute(layer.name, in.value, own));
  return in.with(out);
}

}  // namespace dvnn::import
