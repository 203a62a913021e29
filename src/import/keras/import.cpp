// SPDX-License-Identifier: Apache-2.0
// Walks over a model's layers, including nested models.
#include "import/keras/import.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/format.h"
#include "base/json.h"
#include "base/nth.h"
#include "import/keras/architecture.h"
#include "import/keras/files.h"
#include "import/keras/layers.h"
#include "import/options.h"

namespace dvnn::import {
namespace {

constexpr int kMaxDepth = 8;  // of models in models
constexpr size_t kMaxLayers = 20000;

class Walk {
 public:
  using Place = KerasWeights::Place;

  Walk(const Hdf5File& file, KerasImporter* importer)
      : weights_(file, importer->archive), importer_(*importer) {}

  // Imports a model with these inputs (none: the outermost model, which makes its own).
  Result<std::vector<KerasTensor>> model(const Json& config, const Place& owner,
                                         const std::vector<KerasTensor>& inputs, int depth) {
    if (depth > kMaxDepth) return too_large("models are nested too deeply");
    const Json& layers = config.is_array() ? config : keras_option(config, {"layers"});
    if (!layers.is_array() || layers.empty() || layers.size() > kMaxLayers) {
      return malformed(format(
          "the model's architecture has no list of layers, of which there may be %zu", kMaxLayers));
    }
    for (const Json& entry : layers) {
      if (!entry.is_object() || !entry.contains("config")) {
        return malformed("a layer has no configuration");
      }
    }
    const bool functional = config.is_object() && config.contains("output_layers");
    return functional ? this->functional(config, layers, owner, inputs, depth)
                      : sequential(layers, owner, inputs, depth);
  }

 private:
  static Place below(const Place& owner, const Json& entry) {
    return {owner.owner, owner.path + keras_text(entry, "weights_path")};
  }

  Result<std::vector<KerasTensor>> sequential(const Json& layers, const Place& owner,
                                              std::vector<KerasTensor> at, int depth) {
    if (at.size() > 1) {
      return malformed(format("a sequence of layers is called with %zu inputs", at.size()));
    }
    for (const Json& entry : layers) {
      const Json& config = entry.at("config");
      const std::string kind = keras_text(entry, "class_name");
      const Json& shape = keras_option(config, {"batch_input_shape", "batch_shape"});
      // A nested model at the beginning may hold the input.
      if (at.empty() && !(is_keras_model(kind) && shape.is_null())) {
        DVNN_ASSIGN(const KerasTensor made, input(keras_text(config, "name"), shape));
        at = {made};
      }
      if (kind == "InputLayer") continue;
      DVNN_ASSIGN(at, layer(entry, below(owner, entry), at, depth));
      at.resize(1);
    }
    return at;
  }

  // A call of a layer: its place in `inbound_nodes`.
  struct Call {
    const Json* entry;
    size_t node;
  };
  using Made = std::map<std::string, std::vector<KerasTensor>>;  // by "layer/node"

  // Returns the key of a reference's call: a reference is [layer, node, tensor], and may have more
  // members. Empty: it is no reference.
  static std::string key_of(const Json& reference) {
    const bool known = reference.is_array() && reference.size() >= 3 &&
                       reference.at(0).is_string() && reference.at(1).is_number_integer() &&
                       reference.at(2).is_number_integer();
    if (!known) return "";
    return reference.at(0).get<std::string>() + "/" + std::to_string(reference.at(1).get<int>());
  }

  Result<KerasTensor> referred(const Made& made, const Json& reference) {
    if (reference.is_number()) return number(reference.get<float>());
    const std::string key = key_of(reference);
    if (key.empty()) return malformed("a layer's inputs are not described as Keras does");
    const auto it = made.find(key);
    const auto index = static_cast<size_t>(std::max(reference.at(2).get<int>(), 0));
    if (it != made.end() && index < it->second.size()) return it->second[index];
    return malformed("'" + reference.at(0).get<std::string>() +
                     "' is read, and does not exist or reads itself");
  }

  // Returns a number that an operator of Keras 3 reads, as a tensor.
  Result<KerasTensor> number(float value) {
    const std::string name = "number_" + std::to_string(numbers_++);
    DVNN_ASSIGN(const int made, importer_.builder.constant(name, {1, 1}, {value}));
    return KerasTensor{made, false, false};
  }

  // Returns the inputs of a nested model, or makes the model's own.
  Result<Made> inputs_of(const Json& config, const Json& layers,
                         const std::vector<KerasTensor>& inputs) {
    Made made;
    for (const Json& entry : layers) {
      if (keras_text(entry, "class_name") != "InputLayer" || !inputs.empty()) continue;
      const std::string name = keras_name_of(entry);
      const Json& shape = keras_option(entry.at("config"), {"batch_input_shape", "batch_shape"});
      DVNN_ASSIGN(const KerasTensor tensor, input(name, shape));
      made[name + "/0"] = {tensor};
    }
    if (inputs.empty()) return made;
    const Json& names = keras_option(config, {"input_layers"});
    if (names.size() != inputs.size() || (names.is_object() && names.size() > 1)) {
      return unsupported(
          format("it is called with %zu inputs, and lists %zu (in an order, not by name)",
                 inputs.size(), names.size()));
    }
    size_t next = 0;
    for (const Json& reference : names) made[key_of(reference)] = {inputs[next++]};
    return made;
  }

  Result<std::vector<KerasTensor>> functional(const Json& config, const Json& layers,
                                              const Place& owner,
                                              const std::vector<KerasTensor>& inputs, int depth) {
    DVNN_ASSIGN(Made made, inputs_of(config, layers, inputs));
    // Layers are in the order of their first calls. A later call of a layer may read results of
    // layers that come after it.
    std::map<std::string, std::vector<Call>> waiting;  // by the key of what they wait for
    for (const Json& entry : layers) {
      const Json& nodes = keras_option(entry, {"inbound_nodes"});
      for (size_t n = 0; nodes.is_array() && n < nodes.size(); ++n) {
        std::vector<Call> ready = {{&entry, n}};
        while (!ready.empty()) {
          const Call call = ready.back();
          ready.pop_back();
          const Json& node = (*call.entry).at("inbound_nodes").at(call.node);
          if (const std::string missing = missing_input(made, node); !missing.empty()) {
            waiting[missing].push_back(call);
            continue;
          }
          const std::string key = key_of(call);
          DVNN_ASSIGN(made[key], called(made, *call.entry, node, owner, depth));
          const auto next = waiting.find(key);
          if (next == waiting.end()) continue;
          ready.insert(ready.end(), next->second.rbegin(), next->second.rend());
          waiting.erase(next);
        }
      }
    }
    if (!waiting.empty()) return never_made(waiting);
    std::vector<KerasTensor> outputs;
    for (const Json& reference : config.at("output_layers")) {
      DVNN_ASSIGN(const KerasTensor tensor, referred(made, reference));
      outputs.push_back(tensor);
    }
    if (outputs.empty()) return malformed("the model has no outputs");
    return outputs;
  }

  static std::string key_of(const Call& call) {
    return keras_name_of(*call.entry) + "/" + std::to_string(call.node);
  }

  // Returns why calls wait for ever: for something that does not exist, or else for each other.
  static Error never_made(const std::map<std::string, std::vector<Call>>& waiting) {
    std::set<std::string> later;
    for (const auto& [missing, calls] : waiting) {
      for (const Call& call : calls) later.insert(key_of(call));
    }
    auto worst = waiting.begin();
    for (auto it = waiting.begin(); it != waiting.end(); ++it) {
      if (later.count(it->first) == 0) worst = it;
    }
    const std::string& missing = worst->first;
    return {ErrorCode::kMalformed, "layer '" + keras_name_of(*worst->second[0].entry) + "': '" +
                                       missing.substr(0, missing.rfind('/')) +
                                       "' is read, and does not exist or reads itself"};
  }

  // Returns the first of a node's inputs that was not made yet, or nothing.
  static std::string missing_input(const Made& made, const Json& node) {
    for (const Json& reference : node) {
      const std::string key = key_of(reference);
      if (!key.empty() && made.count(key) == 0) return key;
    }
    return "";
  }

  Result<std::vector<KerasTensor>> called(const Made& made, const Json& entry, const Json& node,
                                          const Place& owner, int depth) {
    std::vector<KerasTensor> inputs;
    for (const Json& reference : node) {
      auto tensor = referred(made, reference);
      if (!tensor.ok()) return tensor.error().within("layer '" + keras_name_of(entry) + "'");
      inputs.push_back(tensor.value());
    }
    return layer(entry, below(owner, entry), inputs, depth);
  }

  Result<std::vector<KerasTensor>> layer(const Json& entry, const Place& place,
                                         std::vector<KerasTensor> inputs, int depth) {
    KerasLayer layer;
    layer.class_name = keras_text(entry, "class_name");
    layer.config = entry.at("config");
    layer.name = keras_text(layer.config.is_object() ? layer.config : entry, "name");
    if (layer.name.empty()) layer.name = keras_text(entry, "name");
    layer.inputs = std::move(inputs);
    const std::string where = "layer '" + layer.name + "' (" + layer.class_name + ")";
    if (is_keras_model(layer.class_name)) {
      const Place inner = {place.owner.empty() ? layer.name : place.owner, place.path + "/"};
      if (place.owner.empty()) weights_.enter(layer.name, layer.config);
      auto made = model(layer.config, inner, layer.inputs, depth + 1);
      if (!made.ok()) return made.error().within(where);
      return made;
    }
    if (layer.inputs.empty()) return malformed(where + " has no inputs");
    auto weights = weights_.of(place, layer.name);
    if (!weights.ok()) return weights.error().within(where);
    layer.weights = std::move(weights.value());
    auto made = import_keras_layer(&importer_, layer);
    if (!made.ok()) {
      return refused_layer(made.error(), where, layer.inputs.size(), importer_.builder.graph);
    }
    return std::vector<KerasTensor>{made.value()};
  }

  Result<KerasTensor> input(const std::string& name, const Json& shape) {
    std::vector<int64_t> dims;  // batch, h, w, c
    for (const Json& d : shape) dims.push_back(d.is_number_integer() ? d.get<int64_t>() : -1);
    const bool sequence = dims.size() == 3;  // batch, length, c
    const bool vector = dims.size() == 2;    // batch, n
    if (sequence) dims.insert(dims.begin() + 1, 1);
    if (dims.size() != 4 && !vector) {
      return unsupported(
          "input '" + name +
          "' is neither a picture (H, W, C), nor a sequence (length, C), nor a vector");
    }
    const ImportOptions& options = importer_.options;
    importer_.input_names.push_back(name);
    if (const GivenInput* given = find_given(options, name)) {
      return set_input(*given, dims, sequence);
    }
    if (importer_.builder.graph.input >= 0) return ask_for_values(importer_.input_names);
    if (vector) {
      if (dims[1] < 1) dims[1] = options.width;
      if (dims[1] < 1) return open_input(name);
      DVNN_ASSIGN(const int value, importer_.builder.input(name, {1, dims[1]}));
      return KerasTensor{value, false, false};
    }
    if (options.width > 0) dims[1] = options.height, dims[2] = options.width;
    if (dims[1] < 1 || dims[2] < 1) return open_input(name);
    DVNN_ASSIGN(const int value, importer_.builder.input(name, {1, dims[3], dims[1], dims[2]}));
    return KerasTensor{value, false, sequence};
  }

  static Error open_input(const std::string& name) {
    return {ErrorCode::kUnsupported,
            "input '" + name + "' has no fixed size: give one with --size WxH"};
  }

  // An input whose values are given, (batch, h, w, c) or (batch, n).
  Result<KerasTensor> set_input(const GivenInput& given, std::vector<int64_t> dims, bool sequence) {
    DVNN_ASSIGN(const auto values, fill_given(given, &dims));
    GraphBuilder& b = importer_.builder;
    DVNN_ASSIGN(const int value, b.constant(given.name, dims, {values.begin(), values.end()}));
    if (dims.size() == 2) return KerasTensor{value, false, false};
    DVNN_ASSIGN(const int moved, b.permute(given.name + "_nchw", value, {0, 3, 1, 2}));
    return KerasTensor{moved, false, sequence};
  }

  KerasWeights weights_;
  KerasImporter& importer_;
  size_t numbers_ = 0;  // number of operators' numbers
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
  // It may still be a sequence.
  const Shape& shape = importer->builder.shape_of(out);
  const bool row = layer.inputs[0].row && shape.rank == 4 && shape.h() == 1;
  return KerasTensor{out, false, row};
}

// Checks kinds of options: one of the wrong kind would be treated as absent.
Status check_kinds(const Json& config) {
  for (const char* name : {"center", "keepdims", "use_bias", "bias"}) {
    const Json& value = keras_option(config, {name});
    if (value.is_null() || value.is_boolean()) continue;
    return malformed(std::string(name) + " is " + shown(value) + ", and must be true or false");
  }
  for (const char* name : {"alpha", "epsilon", "negative_slope", "threshold"}) {
    const Json& value = keras_option(config, {name});
    if (value.is_null() || value.is_number()) continue;
    return malformed(std::string(name) + " is " + shown(value) + ", and must be a number");
  }
  return {};
}

}  // namespace

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
  if (is_keras_1d(layer.class_name)) {
    KerasLayer over_row = keras_1d_as_2d(layer);
    DVNN_ASSIGN(over_row.inputs[0], importer->as_row(layer.name, layer.inputs[0]));
    over_row.inputs[0].row = false;
    DVNN_ASSIGN(KerasTensor made, import_keras_layer(importer, over_row));
    made.row = importer->rank(made) == 4;
    return made;
  }
  for (const Entry& entry : kLayers) {
    if (layer.class_name != entry.class_name) continue;
    DVNN_TRY(check_kinds(layer.config));
    return entry.import(importer, layer);
  }
  if (layer.class_name == "Lambda") {
    return unsupported(
        "what it computes is Python, which is not run here: declare it with --layer-types, as {\"" +
        layer.name + "\": {\"affine\": [1, 0]}} if it is x * 1 + 0");
  }
  return unsupported(
      "the class is not supported (docs/converter.md lists those that are): cut the model before "
      "it with --outputs, or declare it with --layer-types");
}

bool keras_flag(const Json& value, bool fallback) {
  return value.is_boolean() ? value.get<bool>() : fallback;
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
    return malformed(shown(value) + " is no pair of sizes");
  }
  return pair;
}

// Imports a model from JSON: {"class_name": ..., "config": ...}.
static Result<Graph> import_model(Json model, const Hdf5File& weights, KerasImporter* importer) {
  if (!model.is_object() || !model.contains("config")) {
    return malformed("holds no model's architecture");
  }
  Json& config = model["config"];
  DVNN_TRY(to_keras2(&config));
  if (!importer->options.outputs.empty()) {
    DVNN_TRY(cut_keras(importer->options.outputs, &config));
  }
  Walk walk(weights, importer);
  DVNN_ASSIGN(const auto outputs, walk.model(config, {}, {}, 0));
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
    return unsupported("holds weights alone: save the whole model, with its architecture");
  }
  DVNN_ASSIGN(const std::string text, file.text("/", "model_config"));
  DVNN_ASSIGN(Json model, parse_json(text, "attribute 'model_config'"));
  KerasImporter importer(options);
  if (file.has_attribute("/", "keras_version")) {
    DVNN_ASSIGN(const std::string version, file.text("/", "keras_version"));
    if (version.compare(0, 2, "1.") == 0) importer.version = 1;
    if (version.compare(0, 2, "3.") == 0) importer.version = 3;
  } else {
    importer.version = 1;  // the attribute came with Keras 1.1
  }
  const char* const root = file.has_attribute("/", "layer_names") ? "/" : "/model_weights";
  if (const auto names = file.texts(root, "layer_names"); names.ok() && model.is_object()) {
    if (const auto config = model.find("config"); config != model.end()) {
      name_sequences(names.value(), &*config);
    }
  }
  return import_model(std::move(model), file, &importer);
}

Result<Graph> import_keras3(const std::string& config, const Hdf5File& weights,
                            const ImportOptions& options) {
  DVNN_ASSIGN(Json model, parse_json(config, "config.json"));
  KerasImporter importer(options);
  importer.version = 3;
  importer.archive = true;
  return import_model(std::move(model), weights, &importer);
}

}  // namespace dvnn::import
