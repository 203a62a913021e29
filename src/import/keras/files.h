// SPDX-License-Identifier: Apache-2.0
// Keras's files. Keras 1 and 2 keep texts, lists of texts, and arrays of numbers in HDF5 files; a
// file of Keras 3 is a ZIP archive of the architecture (config.json) and an HDF5 file of the
// weights. KerasWeights finds the arrays of a model's layers in both.
//
// Damaged files make libhdf5 1.10 read and write where it should not. So a sandbox (sandbox.h)
// reads the whole file, and hands over what it found: if it dies, the file is damaged. What a file
// makes of libhdf5 reaches no other file, no network and no process.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"

namespace dvnn::import {

/// An array of numbers, row-major.
struct Hdf5Array {
  std::vector<int64_t> dims;
  std::vector<float> values;
  size_t extent(size_t i) const { return static_cast<size_t>(dims[i]); }
};

struct Hdf5Contents;

class Hdf5File {
 public:
  /// Reads a file of at most 1 GiB. kNotFound, or kMalformed if it is no HDF5 file. Not to be
  /// called while other threads run: it forks.
  static Result<std::unique_ptr<Hdf5File>> open(const std::string& path);
  /// Wraps the contents that such a process found, or those that a test makes up.
  static std::unique_ptr<Hdf5File> of(Hdf5Contents contents);

  bool has_attribute(const std::string& object, const std::string& name) const;
  /// Returns a text attribute of an object ("/" is the file's root).
  Result<std::string> text(const std::string& object, const std::string& name) const;
  /// Returns a list of strings. Long lists are stored in parts, "name0", "name1" and so on.
  Result<std::vector<std::string>> texts(const std::string& object, const std::string& name) const;
  /// Returns a data set of real numbers.
  Result<Hdf5Array> array(const std::string& path) const;

 private:
  Hdf5File() = default;
  std::map<std::string, std::vector<std::string>> attributes_;  // by "object@name"
  std::map<std::string, Hdf5Array> arrays_;                     // by path
};

/// The contents of a file of Keras 3.
struct KerasArchive {
  std::string config;                 // JSON
  std::unique_ptr<Hdf5File> weights;  // at "layers/CLASS_N/vars/I"
};

/// Returns whether a file begins as a ZIP archive does.
bool is_keras_archive(const std::string& path);

/// Reads an archive of at most 1 GiB, whose parts are no larger when unpacked. Errors name the file
/// and the part. Like Hdf5File::open(), it forks.
Result<KerasArchive> read_keras_archive(const std::string& path);

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
