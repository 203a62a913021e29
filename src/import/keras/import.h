// SPDX-License-Identifier: Apache-2.0
// Keras layers -> graph nodes. Keras' pictures are H x W x C; the graph's are C x H x W.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "import/builder.h"
#include "import/keras/hdf5_file.h"
#include "import/options.h"

namespace dvnn::import {

/// A model as Keras 1, 2 or TF-Keras save it, with its architecture. Errors name the layer and its
/// class.
Result<Graph> import_keras(const Hdf5File& file, const ImportOptions& options);

/// The same of what Keras 3 keeps in an archive (archive.h).
Result<Graph> import_keras3(const std::string& config, const Hdf5File& weights,
                            const ImportOptions& options);

// --- private to the Keras front end -------------------------------------------------------------

/// The result of a layer.
struct KerasTensor {
  int value = -1;
  bool flat = false;  // Keras sees the picture `value` flattened, in the order H, W, C
};

/// A layer as its importer sees it.
struct KerasLayer {
  std::string name, class_name;
  nlohmann::json config;
  std::vector<KerasTensor> inputs;
  std::vector<Hdf5Array> weights;  // in Keras' order
};

struct KerasImporter {
  explicit KerasImporter(const ImportOptions& import_options) : options(import_options) {}
  GraphBuilder builder;
  const ImportOptions& options;
  bool keras1 = false, keras3 = false;
  std::vector<std::string> input_names;

  /// A tensor as the graph has it: flattened pictures are put in Keras' order.
  Result<int> plain(const KerasLayer& layer, const KerasTensor& tensor);
};

/// Imports one layer (not a nested model). kUnsupported if its class is not known.
Result<KerasTensor> import_keras_layer(KerasImporter* importer, const KerasLayer& layer);

/// is_keras_1d() says whether a class works on sequences; the other returns the same layer for
/// images of one row.
bool is_keras_1d(const std::string& class_name);
KerasLayer keras_1d_as_2d(const KerasLayer& layer);

/// The first of several keys that a configuration has; null if it has none.
const nlohmann::json& keras_option(const nlohmann::json& config,
                                   std::initializer_list<const char*> keys);
/// Two integers (y, x), or one for both.
Result<std::vector<int64_t>> keras_pair(const nlohmann::json& value, int64_t fallback);
/// A named activation after `in`; "linear" and null are none.
Result<int> keras_activation(KerasImporter* importer, const std::string& name,
                             const nlohmann::json& activation, int in);

using KerasFunction = Result<KerasTensor> (*)(KerasImporter*, const KerasLayer&);
/// Layers that join or reshape: keras_layers_shape.cpp.
const std::map<std::string, KerasFunction>& keras_shape_layers();

}  // namespace dvnn::import
