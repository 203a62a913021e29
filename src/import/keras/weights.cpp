// SPDX-License-Identifier: Apache-2.0
#include "import/keras/weights.h"

#include "import/keras/architecture.h"

namespace dvnn::import {
namespace {

constexpr int kMostNested = 16;

void collect_names(const Json& config, int depth, std::set<std::string>* names) {
  const Json* layers = &config;
  if (config.is_object()) {
    const auto it = config.find("layers");
    if (it == config.end()) return;
    layers = &*it;
  }
  if (!layers->is_array() || depth > kMostNested) return;
  for (const Json& layer : *layers) {
    if (!layer.is_object() || !layer.contains("config")) continue;
    const std::string own = keras_text(layer.at("config"), "name");
    names->insert(own.empty() ? keras_text(layer, "name") : own);
    collect_names(layer.at("config"), depth + 1, names);
  }
}

// Returns whether a name has no path, as in Keras 1: "NAME_W:0".
bool is_keras1_name(const std::string& full, const std::string& layer) {
  static const std::set<std::string> kArrays = {"W",
                                                "b",
                                                "gamma",
                                                "beta",
                                                "running_mean",
                                                "running_std",
                                                "alphas",
                                                "kernel",
                                                "bias",
                                                "depthwise_kernel",
                                                "moving_mean",
                                                "moving_variance",
                                                "pointwise_kernel"};
  return full.size() > layer.size() + 1 && full.compare(0, layer.size() + 1, layer + "_") == 0 &&
         kArrays.count(full.substr(layer.size() + 1, full.find(':') - layer.size() - 1)) > 0;
}

// Returns whether a scope is the layer with a number: "conv_1" of a second model with a "conv".
bool is_numbered(const std::string& scope, const std::string& layer) {
  return scope.size() > layer.size() + 1 && scope.compare(0, layer.size() + 1, layer + "_") == 0 &&
         scope.find_first_not_of("0123456789", layer.size() + 1) == std::string::npos;
}

// Returns the layer that owns an array, given the path before the array's own name: the longest end
// of it that is a layer's name.
std::string layer_of(const std::string& path, const std::set<std::string>& layers) {
  for (size_t start = 0;;) {
    const std::string end = path.substr(start);
    const size_t slash = path.find('/', start);
    if (layers.count(end) > 0 || slash == std::string::npos) return end;
    start = slash + 1;
  }
}

}  // namespace

KerasWeights::KerasWeights(const Hdf5File& file, bool archive)
    : file_(file),
      archive_(archive),
      root_(file.has_attribute("/", "layer_names") ? "/" : "/model_weights") {}

void KerasWeights::enter(const std::string& owner, const Json& config) {
  collect_names(config, 0, &layers_in_[owner]);
}

Result<std::vector<Hdf5Array>> KerasWeights::of(const Place& place, const std::string& name) const {
  if (archive_) return at(place.path);
  if (!place.owner.empty()) return of_nested(place.owner, name);
  DVNN_ASSIGN(const auto names, file_.texts(group(name), "weight_names"));
  return read(name, names);
}

// Returns the arrays below a path, ordered by number.
std::vector<Hdf5Array> KerasWeights::at(const std::string& path) const {
  std::vector<Hdf5Array> arrays;
  for (;;) {
    auto array = file_.array("/" + path + "/vars/" + std::to_string(arrays.size()));
    if (!array.ok()) return arrays;
    arrays.push_back(std::move(array.value()));
  }
}

Result<std::vector<Hdf5Array>> KerasWeights::of_nested(const std::string& owner,
                                                       const std::string& name) const {
  DVNN_ASSIGN(const auto names, file_.texts(group(owner), "weight_names"));
  static const std::set<std::string> kNone;
  const auto known = layers_in_.find(owner);
  const std::set<std::string>& layers = known == layers_in_.end() ? kNone : known->second;
  std::vector<std::string> own, numbered;
  std::string number;  // the first numbered scope found
  for (const std::string& full : names) {
    const size_t last = full.rfind('/');
    const std::string scope =
        last == std::string::npos ? "" : layer_of(full.substr(0, last), layers);
    if (scope == name || is_keras1_name(full, name)) own.push_back(full);
    if (layers.count(scope) > 0 || !is_numbered(scope, name)) continue;
    if (number.empty()) number = scope;
    if (scope == number) numbered.push_back(full);
  }
  return read(owner, own.empty() ? numbered : own);
}

Result<std::vector<Hdf5Array>> KerasWeights::read(const std::string& layer,
                                                  const std::vector<std::string>& names) const {
  std::vector<Hdf5Array> arrays;
  for (const std::string& name : names) {
    DVNN_ASSIGN(Hdf5Array array, file_.array(group(layer) + "/" + name));
    arrays.push_back(std::move(array));
  }
  return arrays;
}

std::string KerasWeights::group(const std::string& layer) const {
  return (root_ == "/" ? "" : root_) + "/" + layer;
}

}  // namespace dvnn::import
