// SPDX-License-Identifier: Apache-2.0
#include "import/keras/files.h"

#include <zip.h>

#include <algorithm>

#include "base/format.h"
#include "base/json.h"
#include "import/keras/architecture.h"
#include "import/keras/hdf5_reader.h"
#include "import/model_file.h"

namespace dvnn::import {

Result<std::unique_ptr<Hdf5File>> Hdf5File::open(const std::string& path) {
  DVNN_ASSIGN(
      Hdf5Contents contents,
      read_contents(path, {}, read_hdf5, "is not an HDF5 file, or it is truncated or damaged"));
  return of(std::move(contents));
}

std::unique_ptr<Hdf5File> Hdf5File::of(Hdf5Contents contents) {
  std::unique_ptr<Hdf5File> file(new Hdf5File());
  file->attributes_ = std::move(contents.attributes);
  file->arrays_ = std::move(contents.arrays);
  return file;
}

bool Hdf5File::has_attribute(const std::string& object, const std::string& name) const {
  return attributes_.count(object + "@" + name) > 0;
}

Result<std::string> Hdf5File::text(const std::string& object, const std::string& name) const {
  const auto it = attributes_.find(object + "@" + name);
  if (it != attributes_.end() && it->second.size() == 1) return it->second[0];
  return malformed("attribute '" + name + "' of '" + object + "' is no single text");
}

Result<std::vector<std::string>> Hdf5File::texts(const std::string& object,
                                                 const std::string& name) const {
  const auto whole = attributes_.find(object + "@" + name);
  if (whole != attributes_.end()) return whole->second;
  std::vector<std::string> all;
  for (int part = 0; has_attribute(object, name + std::to_string(part)); ++part) {
    const auto& list = attributes_.at(object + "@" + name + std::to_string(part));
    all.insert(all.end(), list.begin(), list.end());
  }
  return all;
}

Result<Hdf5Array> Hdf5File::array(const std::string& path) const {
  const auto it = arrays_.find(path);
  if (it != arrays_.end()) return it->second;
  return malformed("data set '" + path + "' does not exist, or holds no real numbers");
}

namespace {

constexpr uint64_t kMaxConfigBytes = uint64_t{16} << 20;

struct CloseArchive {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
struct CloseEntry {
  void operator()(zip_file_t* entry) const { zip_fclose(entry); }
};

Result<std::string> read_entry(zip_t* archive, const char* name, uint64_t limit) {
  zip_stat_t stat;
  zip_stat_init(&stat);
  if (zip_stat(archive, name, 0, &stat) != 0 || !(stat.valid & ZIP_STAT_SIZE)) {
    return malformed(format("holds no '%s': not a Keras model?", name));
  }
  if (stat.size > limit) {
    return too_large(format("'%s' has %llu bytes, the limit is %llu", name,
                            static_cast<unsigned long long>(stat.size),
                            static_cast<unsigned long long>(limit)));
  }
  // The archive may lie about the size, so memory is only taken for data that has arrived.
  constexpr uint64_t kChunk = uint64_t{1} << 20;
  const std::unique_ptr<zip_file_t, CloseEntry> entry(zip_fopen(archive, name, 0));
  std::string bytes;
  bytes.reserve(static_cast<size_t>(stat.size));
  while (entry && bytes.size() < stat.size) {
    const size_t had = bytes.size();
    bytes.resize(static_cast<size_t>(std::min(had + kChunk, stat.size)));
    const zip_int64_t got = zip_fread(entry.get(), &bytes[had], bytes.size() - had);
    bytes.resize(had + static_cast<size_t>(std::max<zip_int64_t>(got, 0)));
    if (got <= 0) break;
  }
  if (entry && bytes.size() == stat.size) return bytes;
  return malformed(format("'%s' in it is damaged", name));
}

// Reads the archive, and the weights in it.
bool read_parts(uint8_t* archive_bytes, size_t size, Hdf5Contents* contents) {
  zip_source_t* const source = zip_source_buffer_create(archive_bytes, size, 0, nullptr);
  const std::unique_ptr<zip_t, CloseArchive> archive(
      source ? zip_open_from_source(source, ZIP_RDONLY, nullptr) : nullptr);
  if (!archive) return false;
  auto config = read_entry(archive.get(), "config.json", kMaxConfigBytes);
  auto weights =
      config.ok() ? read_entry(archive.get(), "model.weights.h5", kMaxModelBytes) : config;
  if (!weights.ok()) {
    contents->refusal = weights.error().message;
    return false;
  }
  contents->config = std::move(config.value());
  return read_hdf5(reinterpret_cast<uint8_t*>(weights.value().data()), weights.value().size(),
                   contents);
}

}  // namespace

bool is_keras_archive(const std::string& path) {
  const auto file = open_model_file(path, kMaxModelBytes);
  char magic[2] = {};
  return file.ok() && read_at(file.value().fd(), 0, magic, sizeof(magic)).ok() && magic[0] == 'P' &&
         magic[1] == 'K';
}

Result<KerasArchive> read_keras_archive(const std::string& path) {
  SandboxLimits limits;
  limits.memory_bytes += kMaxModelBytes;  // of the weights, unpacked
  DVNN_ASSIGN(Hdf5Contents contents,
              read_contents(path, limits, read_parts,
                            "is a damaged ZIP archive, or its 'model.weights.h5' is not an HDF5 "
                            "file, or is truncated or damaged"));
  KerasArchive keras;
  keras.config = std::move(contents.config);
  keras.weights = Hdf5File::of(std::move(contents));
  return keras;
}

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
