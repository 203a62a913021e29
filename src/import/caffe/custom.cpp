// SPDX-License-Identifier: Apache-2.0
// Imports layers of types that the user declared. Caffe has no place for parameters of foreign
// types except its Python layer's param_str: JSON, perhaps with Python's quotes.
#include <algorithm>

#include "base/json.h"
#include "import/caffe/layers.h"

namespace dvnn::import {

std::string caffe_custom_type(const caffe::LayerParameter& layer) {
  return layer.type() == "Python" ? layer.python_param().layer() : layer.type();
}

Status import_custom(CaffeImporter* importer, const caffe::LayerParameter& layer) {
  const std::string type = caffe_custom_type(layer);
  std::vector<int> inputs;
  for (int i = 0; i < layer.bottom_size(); ++i) {
    DVNN_ASSIGN(const int value, importer->bottom(layer, i));
    inputs.push_back(value);
  }
  std::string text = layer.python_param().param_str();
  const char* const kWhat = "python_param.param_str";
  auto parsed = parse_json(text.empty() ? "{}" : text, kWhat);
  if (!parsed.ok() && parsed.error().code == ErrorCode::kMalformed) {
    std::replace(text.begin(), text.end(), '\'', '"');
    parsed = parse_json(text, kWhat);
  }
  DVNN_ASSIGN(const Json params, std::move(parsed));
  if (!params.is_object()) return malformed(std::string(kWhat) + " is no JSON object");
  const CustomLayer& declared = importer->options.custom_layers.at(type);
  return importer->done(
      layer, importer->builder.custom(layer.name(), type, declared, params, std::move(inputs)));
}

}  // namespace dvnn::import
