// SPDX-License-Identifier: Apache-2.0
#include "import/keras/hdf5_file.h"

#include "import/keras/hdf5_reader.h"

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

}  // namespace dvnn::import
