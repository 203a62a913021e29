// SPDX-License-Identifier: Apache-2.0
// Where the arrays of a Keras model's layers are found. Private to the Keras front end.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "import/keras/files.h"

namespace dvnn::import {

/// Finds the arrays of layers: in an archive by their path, in an HDF5 file by their names.
class KerasWeights {
 public:
  KerasWeights(const Hdf5File& file, bool archive);

  /// A layer's place: in the outermost model's layer `owner` (empty: the layer is the outermost
  /// model's own), or, in an archive, at `path`.
  struct Place {
    std::string owner, path;
  };
  /// Announces the nested model `owner` of the outermost one. Call it before of() for its layers.
  void enter(const std::string& owner, const Json& config);
  /// Returns the arrays of the layer called `name`, in Keras' order.
  Result<std::vector<Hdf5Array>> of(const Place& place, const std::string& name) const;

 private:
  std::vector<Hdf5Array> at(const std::string& path) const;
  Result<std::vector<Hdf5Array>> of_nested(const std::string& owner, const std::string& name) const;
  Result<std::vector<Hdf5Array>> read(const std::string& layer,
                                      const std::vector<std::string>& names) const;
  std::string group(const std::string& layer) const;

  const Hdf5File& file_;
  const bool archive_;
  std::string root_;
  std::map<std::string, std::set<std::string>> layers_in_;  // names of layers, by owner
};

}  // namespace dvnn::import
