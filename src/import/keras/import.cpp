// SPDX-License-Identifier: Apache-2.0
// The walk over a model's layers, nested models included, and where their weights are found.
#include "import/keras/import.h"

#include <algorithm>

#include "base/format.h"
#include "base/json.h"
#include "base/nth.h"
#include "import/given_inputs.h"
#include "import/keras/architecture.h"
#include "import/keras/layers.h"

namespace dvnn::import {
namespace {

constexpr int kMaxDepth = 8;  // of models in models
constexpr size_t kMaxLayers = 20000;

bool is_model(const std::string& class_name) {
  return class_name == "Model" || class_name == "Sequential" || class_name == "Functional";
}

// Finds arrays by the name of their layer: the last but one part of their path, which may end with
// a number ("conv_1" of the second model that holds a "conv").
class Weights {
 public:
  Weights(const Hdf5File& file, bool keras3)
      : keras3(keras3),
        file_(file),
        root_(file.has_attribute("/", "layer_names") ? "/" : "/model_weights") {}
  const bool keras3;  // arrays are found by path

  // The arrays below a path, by number.
  std::vector<Hdf5Array> at(const std::string& path) const {
    std::vector<Hdf5Array> arrays;
    for (;;) {
      auto array = file_.array("/" + path + "/vars/" + std::to_string(arrays.size()));
      if (!array.ok()) return arrays;
      arrays.push_back(std::move(array.value()));
    }
  }

  // The arrays of a layer of the outermost model.
  Result<std::vector<Hdf5Array>> of_layer(const std::string& name) const {
    DVNN_ASSIGN(const auto names, file_.texts(group(name), "weight_names"));
    return read(name, names);
  }

  // The arrays of a layer within the nested model `owner`.
  Result<std::vector<Hdf5Array>> of_nested(const std::string& owner,
                                           const std::string& name) const {
    DVNN_ASSIGN(const auto names, file_.texts(group(owner), "weight_names"));
    std::vector<std::string> own;
    for (const std::string& full : names) {
      const size_t last = full.rfind('/');
      if (last == std::string::npos) continue;
      const size_t before = full.rfind('/', last - 1);
      const size_t start = before == std::string::npos ? 0 : before + 1;
      const std::string scope = full.substr(start, last - start);
      const bool numbered =
          scope.size() > name.size() + 1 && scope.compare(0, name.size() + 1, name + "_") == 0 &&
          scope.find_first_not_of("0123456789", name.size() + 1) == std::string::npos;
      if (scope == name || (numbered && own.empty())) own.push_back(full);
    }
    return read(owner, own);
  }

 private:
  std::string group(const std::string& layer) const {
    return (root_ == "/" ? "" : root_) + "/" + layer;
  }
  Result<std::vector<Hdf5Array>> read(const std::string& layer,
                                      const std::vector<std::string>& names) const {
    std::vector<Hdf5Array> arrays;
    for (const std::string& name : names) {
      DVNN_ASSIGN(Hdf5Array array, file_.array(group(layer) + "/" + name));
      arrays.push_back(std::move(array));
    }
    return arrays;
  }
  const Hdf5File& file_;
  std::string root_;
};

class Walk {
 public:
  Walk(const Hdf5File& file, KerasImporter* importer)
      : weights_(file, importer->keras3), importer_(*importer) {}

  // The place of a layer's weights: in the outermost model's layer `owner` (empty: this is the
  // outermost), or, in Keras 3, below `path`.
  struct Place {
    std::string owner, path;
  };

  static Place below(const Place& owner, const Json& entry) {
    return {owner.owner, owner.path + keras_text(entry, "weights_path")};
  }

  // Imports a model whose input is `input` (value -1: the outermost, which makes its own).
  Result<std::vector<KerasTensor>> model(const Json& config, const Place& owner,
                                         const KerasTensor& input, int depth) {
    if (depth > kMaxDepth) return Error{ErrorCode::kLimit, "models are nested too deeply"};
    const Json& layers = config.is_array() ? config : keras_option(config, {"layers"});
    if (!layers.is_array() || layers.empty() || layers.size() > kMaxLayers) {
      return Error{ErrorCode::kMalformed, "the model's architecture has no list of layers"};
    }
    const bool functional = config.is_object() && config.contains("output_layers");
    return functional ? this->functional(config, layers, owner, input, depth)
                      : sequential(layers, owner, input, depth);
  }

 private:
  Result<std::vector<KerasTensor>> sequential(const Json& layers, const Place& owner,
                                              KerasTensor at, int depth) {
    for (const Json& entry : layers) {
      if (!entry.is_object() || !entry.contains("config")) {
        return Error{ErrorCode::kMalformed, "a layer has no configuration"};
      }
      const Json& config = entry["config"];
      if (at.value < 0) {
        const Json& shape = keras_option(config, {"batch_input_shape", "batch_shape"});
        DVNN_ASSIGN(at, input(keras_text(config, "name"), shape));
      }
      if (keras_text(entry, "class_name") == "InputLayer") continue;
      DVNN_ASSIGN(const auto made, layer(entry, below(owner, entry), {at}, depth));
      at = made[0];
    }
    return std::vector<KerasTensor>{at};
  }

  // A reference is [layer, node, tensor]; a node's inputs are a list of references, followed by
  // extras.
  Result<KerasTensor> referred(const std::map<std::string, std::vector<KerasTensor>>& made,
                               const Json& reference) const {
    if (reference.is_array() && reference.size() >= 3 && reference[0].is_string() &&
        reference[1].is_number_integer() && reference[2].is_number_integer()) {
      const std::string key =
          reference[0].get<std::string>() + "/" + std::to_string(reference[1].get<int>());
      const auto it = made.find(key);
      const auto index = static_cast<size_t>(std::max(reference[2].get<int>(), 0));
      if (it != made.end() && index < it->second.size()) return it->second[index];
      return Error{ErrorCode::kMalformed, "'" + reference[0].get<std::string>() +
                                              "' is read before it is made, or does not exist"};
    }
    return Error{ErrorCode::kMalformed, "a layer's inputs are not described as Keras does"};
  }

  Result<std::vector<KerasTensor>> functional(const Json& config, const Json& layers,
                                              const Place& owner, const KerasTensor& outer,
                                              int depth) {
    std::map<std::string, std::vector<KerasTensor>> made;  // by "layer/node"
    for (const Json& entry : layers) {
      if (!entry.is_object() || !entry.contains("config")) {
        return Error{ErrorCode::kMalformed, "a layer has no configuration"};
      }
      const std::string name = keras_text(entry, "name");
      if (keras_text(entry, "class_name") == "InputLayer") {
        KerasTensor tensor = outer;
        if (tensor.value < 0) {
          const Json& shape = keras_option(entry["config"], {"batch_input_shape", "batch_shape"});
          DVNN_ASSIGN(tensor, input(name, shape));
        }
        made[name + "/0"] = {tensor};
        continue;
      }
      const Json& nodes = keras_option(entry, {"inbound_nodes"});
      for (size_t n = 0; nodes.is_array() && n < nodes.size(); ++n) {
        std::vector<KerasTensor> inputs;
        for (const Json& reference : nodes[n]) {
          auto tensor = referred(made, reference);
          if (!tensor.ok()) return tensor.error().within("layer '" + name + "'");
          inputs.push_back(tensor.value());
        }
        DVNN_ASSIGN(made[name + "/" + std::to_string(n)],
                    layer(entry, below(owner, entry), inputs, depth));
      }
    }
    std::vector<KerasTensor> outputs;
    for (const Json& reference : config["output_layers"]) {
      DVNN_ASSIGN(const KerasTensor tensor, referred(made, reference));
      outputs.push_back(tensor);
    }
    if (outputs.empty()) return Error{ErrorCode::kMalformed, "the model has no outputs"};
    return outputs;
  }

  Result<std::vector<KerasTensor>> layer(const Json& entry, const Place& place,
                                         std::vector<KerasTensor> inputs, int depth) {
    KerasLayer layer;
    layer.class_name = keras_text(entry, "class_name");
    layer.config = entry["config"];
    layer.name = keras_text(layer.config.is_object() ? layer.config : entry, "name");
    if (layer.name.empty()) layer.name = keras_text(entry, "name");
    layer.inputs = std::move(inputs);
    const std::string where = "layer '" + layer.name + "' (" + layer.class_name + ")";
    if (layer.inputs.empty()) return Error{ErrorCode::kMalformed, where + " has no inputs"};
    if (is_model(layer.class_name)) {
      const Place inner = {place.owner.empty() ? layer.name : place.owner, place.path + "/"};
      auto made = model(layer.config, inner, layer.inputs[0], depth + 1);
      if (!made.ok()) return made.error().within(where);
      return made;
    }
    auto weights = weights_of(place, layer.name);
    if (!weights.ok()) return weights.error().within(where);
    layer.weights = std::move(weights.value());
    auto made = import_keras_layer(&importer_, layer);
    if (!made.ok()) {
      return refused_layer(made.error(), where, layer.inputs.size(), importer_.builder.graph);
    }
    return std::vector<KerasTensor>{made.value()};
  }

  Result<std::vector<Hdf5Array>> weights_of(const Place& place, const std::string& name) const {
    if (weights_.keras3) return weights_.at(place.path);
    return place.owner.empty() ? weights_.of_layer(name) : weights_.of_nested(place.owner, name);
  }

  Result<KerasTensor> input(const std::string& name, const Json& shape) {
    std::vector<int64_t> dims;  // batch, h, w, c
    for (const Json& d : shape) dims.push_back(d.is_number_integer() ? d.get<int64_t>() : -1);
    const bool sequence = dims.size() == 3;  // batch, length, c
    const bool vector = dims.size() == 2;    // batch, n
    if (sequence) dims.insert(dims.begin() + 1, 1);
    if (dims.size() != 4 && !vector) {
      return Error{ErrorCode::kUnsupported, "input '" + name +
                                                "' is neither a picture (H, W, C), nor a sequence "
                                                "(length, C), nor a vector"};
    }
    const ImportOptions& options = importer_.options;
    importer_.input_names.push_back(name);
    if (const GivenInput* given = find_given(options, name)) return set_input(*given, dims);
    if (importer_.builder.graph.input >= 0) return ask_for_values(importer_.input_names);
    if (vector) {
      if (dims[1] < 1) dims[1] = options.width;
      if (dims[1] < 1) return open_input(name);
      DVNN_ASSIGN(const int value, importer_.builder.input(name, {1, dims[1]}));
      return KerasTensor{value, false};
    }
    if (options.width > 0) dims[1] = options.height, dims[2] = options.width;
    if (dims[1] < 1 || dims[2] < 1) return open_input(name);
    DVNN_ASSIGN(const int value, importer_.builder.input(name, {1, dims[3], dims[1], dims[2]}));
    return KerasTensor{value, false};
  }

  static Error open_input(const std::string& name) {
    return {ErrorCode::kUnsupported,
            "input '" + name + "' has no fixed size: give one with --size WxH"};
  }

  // An input whose values are given, (batch, h, w, c) or (batch, n).
  Result<KerasTensor> set_input(const GivenInput& given, std::vector<int64_t> dims) {
    DVNN_ASSIGN(const auto values, fill_given(given, &dims));
    GraphBuilder& b = importer_.builder;
    DVNN_ASSIGN(const int value, b.constant(given.name, dims, {values.begin(), values.end()}));
    if (dims.size() == 2) return KerasTensor{value, false};
    DVNN_ASSIGN(const int moved, b.permute(given.name + "_nchw", value, {0, 3, 1, 2}));
    return KerasTensor{moved, false};
  }

  Weights weights_;
  KerasImporter& importer_;
};

struct Entry {
  const char* class_name;
  Result<KerasTensor> (*import)(KerasImporter*, const KerasLayer&);
};

constexpr Entry kLayers[] = {
#define DVNN_ROW(class_name, import) {class_name, import},
    DVNN_KERAS_LAYERS(DVNN_ROW)
#undef DVNN_ROW
};

// A class that the user declared: its configuration holds the parameters.
Result<KerasTensor> import_declared(KerasImporter* importer, const KerasLayer& layer,
                                    const CustomLayer& declared) {
  std::vector<int> inputs;
  for (const KerasTensor& tensor : layer.inputs) {
    DVNN_ASSIGN(const int value, importer->plain(layer, tensor));
    inputs.push_back(value);
  }
  DVNN_ASSIGN(const int out, importer->builder.custom(layer.name, layer.class_name, declared,
                                                      layer.config, std::move(inputs)));
  return KerasTensor{out, false};
}

}  // namespace

Result<int> KerasImporter::plain(const KerasLayer& layer, const KerasTensor& tensor) {
  if (!tensor.flat) return tensor.value;
  const Shape shape = builder.shape_of(tensor.value);
  const std::string name = layer.name + "_flat";
  int value = tensor.value;
  if (shape.h() * shape.w() > 1) {
    DVNN_ASSIGN(value, builder.permute(name + "_hwc", value, {0, 2, 3, 1}));
  }
  return builder.reshape(name, value, {1, shape.elements()});
}

const Json& keras_option(const Json& config, std::initializer_list<const char*> keys) {
  static const Json kNull;
  if (!config.is_object()) return kNull;
  for (const char* key : keys) {
    if (const auto it = config.find(key); it != config.end()) return *it;
  }
  return kNull;
}

Result<KerasTensor> import_keras_layer(KerasImporter* importer, const KerasLayer& layer) {
  const CustomLayers& custom = importer->options.custom_layers;
  // A Lambda's name alone says what it computes.
  for (const std::string& declared : {layer.name, layer.class_name}) {
    if (const auto it = custom.find(declared); it != custom.end()) {
      return import_declared(importer, layer, it->second);
    }
  }
  if (is_keras_1d(layer.class_name)) return import_keras_layer(importer, keras_1d_as_2d(layer));
  for (const Entry& entry : kLayers) {
    if (layer.class_name == entry.class_name) return entry.import(importer, layer);
  }
  if (layer.class_name == "Lambda") {
    return Error{
        ErrorCode::kUnsupported,
        "what it computes is Python, which is not run here: declare it with --layer-types, "
        "as {\"" +
            layer.name + "\": {\"affine\": [1, 0]}} if it is x * 1 + 0"};
  }
  return Error{ErrorCode::kUnsupported,
               "the class is not supported (docs/converter.md lists those that are): cut the model "
               "before it with --outputs, or declare it with --layer-types"};
}

double keras_number(const Json& value, double fallback) {
  return value.is_number() ? value.get<double>() : fallback;
}

Result<std::vector<int64_t>> keras_pair(const Json& value, int64_t fallback) {
  constexpr int64_t kMost = 1 << 20;
  std::vector<int64_t> pair = {fallback, fallback};
  if (value.is_number_integer()) pair = {value.get<int64_t>(), value.get<int64_t>()};
  if (value.is_array()) {
    pair.clear();
    for (const Json& v : value) pair.push_back(v.is_number_integer() ? v.get<int64_t>() : -1);
  }
  if (pair.size() != 2 || std::min(pair[0], pair[1]) < 0 || std::max(pair[0], pair[1]) > kMost) {
    return Error{ErrorCode::kMalformed, shown(value) + " is no pair of sizes"};
  }
  return pair;
}

// A model's JSON: {"class_name": ..., "config": ...}.
static Result<Graph> import_model(Json model, const Hdf5File& weights, KerasImporter* importer) {
  if (!model.is_object() || !model.contains("config")) {
    return Error{ErrorCode::kMalformed, "holds no model's architecture"};
  }
  Json& config = model["config"];
  DVNN_TRY(to_keras2(&config));
  if (!importer->options.outputs.empty()) {
    DVNN_TRY(cut_keras(importer->options.outputs, &config));
  }
  Walk walk(weights, importer);
  DVNN_ASSIGN(const auto outputs, walk.model(config, {}, KerasTensor(), 0));
  DVNN_TRY(check_given(importer->options, importer->input_names));
  Graph& graph = importer->builder.graph;
  KerasLayer end;
  for (const KerasTensor& output : outputs) {
    end.name = nth(graph.values, output.value).name;
    DVNN_ASSIGN(const int value, importer->plain(end, output));
    graph.outputs.push_back(value);
    graph.output_names.push_back(end.name);
  }
  graph.name = keras_text(config.is_object() ? config : model, "name");
  return std::move(importer->builder.graph);
}

Result<Graph> import_keras(const Hdf5File& file, const ImportOptions& options) {
  if (!file.has_attribute("/", "model_config")) {
    return Error{ErrorCode::kUnsupported,
                 "holds weights alone: save the whole model, with its architecture"};
  }
  DVNN_ASSIGN(const std::string text, file.text("/", "model_config"));
  DVNN_ASSIGN(Json model, parse_json(text, "attribute 'model_config'"));
  KerasImporter importer(options);
  if (file.has_attribute("/", "keras_version")) {
    DVNN_ASSIGN(const std::string version, file.text("/", "keras_version"));
    importer.keras1 = version.compare(0, 2, "1.") == 0;
  } else {
    importer.keras1 = true;  // the attribute came with Keras 1.1
  }
  return import_model(std::move(model), file, &importer);
}

Result<Graph> import_keras3(const std::string& config, const Hdf5File& weights,
                            const ImportOptions& options) {
  DVNN_ASSIGN(Json model, parse_json(config, "config.json"));
  KerasImporter importer(options);
  importer.keras3 = true;
  return import_model(std::move(model), weights, &importer);
}

}  // namespace dvnn::import
