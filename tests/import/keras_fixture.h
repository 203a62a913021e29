// SPDX-License-Identifier: Apache-2.0
// Small Keras models for tests, in HDF5 files as Keras writes them.
#pragma once

#include <hdf5.h>
#include <unistd.h>

#include <random>
#include <string>
#include <vector>

#include "base/json.h"
#include "convert/convert.h"

namespace dvnn::test {

class KerasModel {
 public:
  /// Adds an array of the layer `name`, with values in [low, high] from a seed. `group`: the nested
  /// model that holds it, if any.
  KerasModel& weights(const std::string& name, const std::string& what, std::vector<hsize_t> dims,
                      float low = -0.5f, float high = 0.5f, const std::string& group = "") {
    std::uniform_real_distribution<float> value(low, high);
    hsize_t count = 1;
    for (hsize_t d : dims) count *= d;
    std::vector<float> values;
    for (hsize_t i = 0; i < count; ++i) values.push_back(value(random_));
    return array(name, what, std::move(dims), std::move(values), group);
  }
  KerasModel& array(const std::string& name, const std::string& what, std::vector<hsize_t> dims,
                    std::vector<float> values, const std::string& group = "") {
    arrays_.push_back(
        {group.empty() ? name : group, name + "/" + what, std::move(dims), std::move(values)});
    return *this;
  }
  const std::vector<float>& values(size_t i) const { return arrays_[i].values; }
  KerasModel& layer(const char* class_name, Json config) {
    layers.push_back({{"class_name", class_name}, {"config", std::move(config)}});
    return *this;
  }

  /// Writes a sequential model of the layers, or `architecture` if it is given.
  void write(const std::string& path, Json architecture = nullptr,
             const char* version = "2.4.0") const {
    if (architecture.is_null()) {
      architecture = {{"class_name", "Sequential"},
                      {"config", {{"name", "t"}, {"layers", layers}}}};
    }
    const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    put_texts(file, "model_config", {json_text(architecture)}, true);
    if (version) put_texts(file, "keras_version", {version}, true);
    const hid_t root = H5Gcreate2(file, "model_weights", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    const auto names_of = groups.empty() ? group_names(architecture["config"]) : groups;
    put_texts(root, "layer_names", names_of, false);
    for (const std::string& name : names_of) {
      const hid_t links = H5Pcreate(H5P_LINK_CREATE);
      H5Pset_create_intermediate_group(links, 1);
      const hid_t group = H5Gcreate2(root, name.c_str(), links, H5P_DEFAULT, H5P_DEFAULT);
      H5Pclose(links);
      std::vector<std::string> names;
      for (const Array& a : arrays_) {
        if (a.group != name) continue;
        names.push_back(a.name);
        put_array(group, a);
      }
      put_texts(group, "weight_names", names, false);
      H5Gclose(group);
    }
    H5Gclose(root);
    H5Fclose(file);
  }

  Json layers = Json::array();
  std::vector<std::string> groups;  // the layers' names; empty: those of the architecture

 private:
  struct Array {
    std::string group, name;
    std::vector<hsize_t> dims;
    std::vector<float> values;
  };

  static std::vector<std::string> group_names(const Json& config) {
    std::vector<std::string> names;
    for (const auto& entry : config.is_array() ? config : config["layers"]) {
      names.push_back(entry["config"].value("name", entry.value("name", "")));
    }
    return names;
  }

  static void put_texts(hid_t object, const char* name, const std::vector<std::string>& list,
                        bool scalar) {
    size_t longest = 1;
    for (const auto& text : list) longest = std::max(longest, text.size());
    std::string bytes;
    for (const auto& text : list) bytes += text + std::string(longest - text.size(), '\0');
    const hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, longest);
    const hsize_t count = list.size();
    const hid_t space = scalar ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &count, nullptr);
    const hid_t attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    if (!list.empty()) H5Awrite(attribute, type, bytes.data());
    H5Aclose(attribute);
    H5Sclose(space);
    H5Tclose(type);
  }

  static void put_array(hid_t group, const Array& a) {
    const hid_t links = H5Pcreate(H5P_LINK_CREATE);
    H5Pset_create_intermediate_group(links, 1);
    const hid_t space = H5Screate_simple(static_cast<int>(a.dims.size()), a.dims.data(), nullptr);
    const hid_t set =
        H5Dcreate2(group, a.name.c_str(), H5T_IEEE_F32LE, space, links, H5P_DEFAULT, H5P_DEFAULT);
    H5Dwrite(set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, a.values.data());
    H5Dclose(set);
    H5Sclose(space);
    H5Pclose(links);
  }

  std::vector<Array> arrays_;
  std::mt19937 random_{1};
};

/// An unused path; the file is removed with the object.
class TemporaryPath {
 public:
  TemporaryPath() { close(mkstemp(&path[0])); }
  ~TemporaryPath() { unlink(path.c_str()); }
  TemporaryPath(const TemporaryPath&) = delete;
  TemporaryPath& operator=(const TemporaryPath&) = delete;
  std::string path = "/tmp/dvnn-keras-XXXXXX";
};

inline Result<network::Model> convert_model(const KerasModel& model,
                                            const Json& architecture = nullptr,
                                            const char* version = "2.4.0",
                                            convert::Report* report = nullptr) {
  const TemporaryPath file;
  model.write(file.path, architecture, version);
  return convert::convert_keras(file.path, {}, report);
}

}  // namespace dvnn::test
