// SPDX-License-Identifier: Apache-2.0
// What Keras keeps in HDF5 files: texts, lists of texts, and arrays of numbers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace dvnn::convert {

/// An array of numbers, row-major.
struct Hdf5Array {
  std::vector<int64_t> dims;
  std::vector<float> values;
};

class Hdf5File {
 public:
  /// kNotFound, or kMalformed if it is no HDF5 file.
  static Result<std::unique_ptr<Hdf5File>> open(const std::string& path);
  ~Hdf5File();

  bool has_attribute(const std::string& object, const std::string& name) const;
  /// An attribute of an object ("/" is the file's).
  Result<std::string> text(const std::string& object, const std::string& name) const;
  /// A list of texts; long lists are kept in parts, "name0", "name1" and so on.
  Result<std::vector<std::string>> texts(const std::string& object, const std::string& name) const;
  /// A data set of real numbers.
  Result<Hdf5Array> array(const std::string& path) const;

 private:
  explicit Hdf5File(int64_t file) : file_(file) {}
  int64_t file_;
};

}  // namespace dvnn::convert
