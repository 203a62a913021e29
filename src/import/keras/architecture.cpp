// SPDX-License-Identifier: Apache-2.0
#include "import/keras/architecture.h"

#include <cctype>
#include <map>
#include <set>

#include "base/json.h"
#include "import/options.h"

namespace dvnn::import {
namespace {

constexpr int kDeepest = 16;

// Appends the references to tensors in a call's arguments, in order: {"class_name":
// "__keras_tensor__", "config": {"keras_history": [layer, node, tensor]}}. Operators, which are no
// layers, have numbers among their arguments: x * 2.
void collect_tensors(const Json& arguments, bool numbers, int depth, Json* found) {
  if (depth > kDeepest) return;
  if (numbers && arguments.is_number()) found->push_back(arguments);
  if (arguments.is_array()) {
    for (const Json& item : arguments) collect_tensors(item, numbers, depth + 1, found);
  } else if (keras_text(arguments, "class_name") == "__keras_tensor__") {
    const auto config = arguments.find("config");
    if (config != arguments.end() && config->is_object() && config->contains("keras_history")) {
      found->push_back(config->at("keras_history"));
    }
  } else if (arguments.is_object()) {
    for (const Json& item : arguments) collect_tensors(item, numbers, depth + 1, found);
  }
}

// A single reference stands by itself in Keras 3, and in a list in Keras 2.
void wrap_reference(Json* references) {
  if (references->is_array() && !references->empty() && (*references)[0].is_string()) {
    *references = Json::array({*references});
  }
}

std::string to_snake_case(const std::string& name) {
  std::string snake;
  for (size_t i = 0; i < name.size(); ++i) {
    const auto at = [&](size_t k) {
      return static_cast<unsigned char>(k < name.size() ? name[k] : 0);
    };
    const bool begins_word =
        std::isupper(at(i)) && i > 0 && (std::islower(at(i + 1)) || std::islower(at(i - 1)));
    if (begins_word) snake += '_';
    snake += static_cast<char>(std::tolower(at(i)));
  }
  return snake;
}

void add_weights_paths(Json* layers) {
  std::map<std::string, int> seen;
  for (Json& layer : *layers) {
    if (!layer.is_object()) continue;
    const std::string name = to_snake_case(keras_text(layer, "class_name"));
    const int before = seen[name]++;
    layer["weights_path"] = "layers/" + name + (before > 0 ? "_" + std::to_string(before) : "");
  }
}

// Calls f(reference) for each reference of a model's calls and, if `ends`, of its outputs.
template <typename Config, typename F>
void for_each_reference(Config* config, bool ends, F f) {
  auto visit = [&](auto& reference) {
    if (reference.is_array() && reference.size() >= 2 && reference.at(0).is_string() &&
        reference.at(1).is_number_integer()) {
      f(reference);
    }
  };
  if (ends) {
    if (const auto it = config->find("output_layers"); it != config->end()) {
      for (auto& reference : *it) visit(reference);
    }
    return;
  }
  for (auto& layer : *config->find("layers")) {
    if (!layer.is_object()) continue;
    const auto nodes = layer.find("inbound_nodes");
    if (nodes == layer.end() || !nodes->is_array()) continue;
    for (auto& node : *nodes) {
      if (!node.is_array()) continue;
      for (auto& reference : node) visit(reference);
    }
  }
}

// The index of each nested model's first call, as used in calls and in the outputs.
struct FirstCall {
  int in_calls = 0, in_outputs = 0;
};

// A model that is a layer has a call of its own, before all others. Up to Keras 2 it counts, so the
// number of calls is among the references; Keras 3 counts it in a model's outputs alone, and not of
// a sequence.
std::map<std::string, FirstCall> first_calls(const Json& config) {
  std::map<std::string, size_t> calls;
  std::map<std::string, FirstCall> first;
  for (const Json& layer : config.at("layers")) {
    if (!layer.is_object() || !is_keras_model(keras_text(layer, "class_name"))) continue;
    const auto nodes = layer.find("inbound_nodes");
    if (nodes == layer.end() || !nodes->is_array() || nodes->empty()) continue;
    const std::string name = keras_name_of(layer);
    if (nodes->at(0).is_object()) {
      first[name] = {0, keras_text(layer, "class_name") == "Sequential" ? 0 : 1};
    } else {
      calls[name] = nodes->size();
    }
  }
  const auto look = [&](const Json& reference) {
    const std::string name = reference.at(0).get<std::string>();
    const auto known = calls.find(name);
    if (known != calls.end() &&
        reference.at(1).get<int64_t>() == static_cast<int64_t>(known->second)) {
      first[name] = {1, 1};
    }
  };
  for (bool ends : {false, true}) for_each_reference(&config, ends, look);
  return first;
}

void count_from_zero(const std::map<std::string, FirstCall>& first, Json* config) {
  for (bool ends : {false, true}) {
    for_each_reference(config, ends, [&](Json& reference) {
      const auto known = first.find(reference[0].get<std::string>());
      if (known == first.end()) return;
      const int base = ends ? known->second.in_outputs : known->second.in_calls;
      const int64_t call = reference[1].get<int64_t>();
      if (call >= base) reference[1] = call - base;
    });
  }
}

Status modernise(Json* config, int depth) {
  if (depth > kDeepest) return too_large("models are nested too deeply");
  if (config->is_array()) {  // a sequence of Keras 1, or of an early Keras 2
    for (Json& layer : *config) {
      if (layer.is_object() && layer.contains("config")) {
        DVNN_TRY(modernise(&layer["config"], depth + 1));
      }
    }
    return {};
  }
  if (!config->is_object() || !config->contains("layers") || !(*config)["layers"].is_array()) {
    return {};
  }
  add_weights_paths(&(*config)["layers"]);
  for (const char* ends : {"input_layers", "output_layers"}) {
    if (config->contains(ends)) wrap_reference(&(*config)[ends]);
  }
  const auto bases = first_calls(*config);
  for (Json& layer : (*config)["layers"]) {
    if (!layer.is_object()) continue;
    if (layer.contains("config")) DVNN_TRY(modernise(&layer["config"], depth + 1));
    const auto nodes = layer.find("inbound_nodes");
    if (nodes == layer.end() || !nodes->is_array()) continue;
    const bool is_operator = keras_text(layer, "module").find("ops.") != std::string::npos;
    for (Json& node : *nodes) {
      if (!node.is_object()) continue;
      Json tensors = Json::array();
      if (node.contains("args")) collect_tensors(node["args"], is_operator, 0, &tensors);
      if (node.contains("kwargs")) collect_tensors(node["kwargs"], false, 0, &tensors);
      node = std::move(tensors);
    }
  }
  count_from_zero(bases, config);
  return {};
}

// The names of the layers that a layer reads.
std::vector<std::string> inputs_of(const Json& layer) {
  std::vector<std::string> names;
  const auto nodes = layer.find("inbound_nodes");
  if (nodes == layer.end() || !nodes->is_array()) return names;
  for (const Json& node : *nodes) {
    for (const Json& reference : node) {
      if (reference.is_array() && !reference.empty() && reference.at(0).is_string()) {
        names.push_back(reference.at(0).get<std::string>());
      }
    }
  }
  return names;
}

Error no_such_layer(const std::string& name, const Json& layers) {
  std::vector<std::string> all;
  for (const Json& layer : layers) all.push_back(keras_name_of(layer));
  return {ErrorCode::kInvalidArgument,
          "--outputs " + name + ": the model has no such layer; it has " + some_names(all)};
}

Status cut_sequence(const std::vector<std::string>& names, Json* layers) {
  if (names.size() > 1) return invalid_argument("--outputs: a sequence of layers has one result");
  for (size_t i = 0; i < layers->size(); ++i) {
    if (keras_name_of((*layers)[i]) != names[0]) continue;
    layers->get_ref<Json::array_t&>().resize(i + 1);
    return {};
  }
  return no_such_layer(names[0], *layers);
}

}  // namespace

bool is_keras_model(const std::string& class_name) {
  return class_name == "Model" || class_name == "Sequential" || class_name == "Functional";
}

std::string keras_name_of(const Json& layer) {
  const std::string name = keras_text(layer, "name");
  if (!name.empty() || !layer.is_object() || !layer.contains("config")) return name;
  return keras_text(layer.at("config"), "name");
}

std::string keras_text(const Json& object, const char* key) {
  if (!object.is_object()) return "";
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : "";
}

Status to_keras2(Json* config) {
  return modernise(config, 0);
}

void name_sequences(const std::vector<std::string>& names, Json* config) {
  if (!config->is_array()) return;
  std::set<std::string> known;
  for (const Json& layer : *config) known.insert(keras_name_of(layer));
  auto next = names.begin();
  for (Json& layer : *config) {
    if (!is_keras_model(keras_text(layer, "class_name")) || !keras_name_of(layer).empty()) continue;
    while (next != names.end() && known.count(*next) > 0) ++next;
    if (next == names.end()) return;
    layer["name"] = *next++;
  }
}

Status cut_keras(const std::vector<std::string>& names, Json* config) {
  Json& layers = config->is_array() ? *config : (*config)["layers"];
  if (!layers.is_array()) return {};
  if (config->is_array() || !config->contains("output_layers")) {
    return cut_sequence(names, &layers);
  }
  std::map<std::string, const Json*> by_name;
  for (const Json& layer : layers) by_name[keras_name_of(layer)] = &layer;
  Json outputs = Json::array();
  std::vector<std::string> open = names;
  for (const std::string& name : names) {
    if (by_name.count(name) == 0) return no_such_layer(name, layers);
    outputs.push_back({name, 0, 0});
  }
  std::set<std::string> needed;
  while (!open.empty()) {
    const std::string name = open.back();
    open.pop_back();
    const auto layer = by_name.find(name);
    if (layer == by_name.end() || !needed.insert(name).second) continue;
    for (std::string& input : inputs_of(*layer->second)) open.push_back(std::move(input));
  }
  Json kept = Json::array();
  for (Json& layer : layers) {
    if (needed.count(keras_name_of(layer)) > 0) kept.push_back(std::move(layer));
  }
  layers = std::move(kept);
  (*config)["output_layers"] = std::move(outputs);
  return {};
}

}  // namespace dvnn::import
