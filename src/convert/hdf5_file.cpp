// SPDX-License-Identifier: Apache-2.0
#include "convert/hdf5_file.h"

#include <hdf5.h>
#include <unistd.h>

#include <algorithm>

#include "base/format.h"
#include "convert/model_file.h"

namespace dvnn::convert {
namespace {

constexpr off_t kMaxBytes = off_t{1} << 30;
constexpr hsize_t kMaxElements = hsize_t{1} << 28;
constexpr size_t kMaxTextBytes = size_t{64} << 20;
constexpr hsize_t kMaxTexts = 100000;

// An HDF5 handle with the function that closes it.
class Handle {
 public:
  Handle(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  explicit operator bool() const { return id_ >= 0; }
  operator hid_t() const { return id_; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

Error damaged(const std::string& what) {
  return Error{ErrorCode::kMalformed, what + " cannot be read: the file is damaged"};
}

// All texts of an attribute.
Result<std::vector<std::string>> read_texts(hid_t file, const std::string& object,
                                            const std::string& name) {
  const std::string what = "attribute '" + name + "' of '" + object + "'";
  const Handle attribute(
      H5Aopen_by_name(file, object.c_str(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  if (!attribute) return Error{ErrorCode::kMalformed, what + " does not exist"};
  const Handle type(H5Aget_type(attribute), H5Tclose);
  const Handle space(H5Aget_space(attribute), H5Sclose);
  if (!type || !space) return damaged(what);
  const hssize_t points = H5Sget_simple_extent_npoints(space);
  if (points == 0) return std::vector<std::string>();  // an empty list has lost its type
  if (H5Tget_class(type) != H5T_STRING) {
    return Error{ErrorCode::kMalformed, what + " is no text"};
  }
  if (points < 0 || static_cast<hsize_t>(points) > kMaxTexts) return damaged(what);
  const size_t count = static_cast<size_t>(points);
  std::vector<std::string> list;
  if (H5Tis_variable_str(type) > 0) {
    std::vector<char*> pointers(std::max<size_t>(count, 1), nullptr);
    if (H5Aread(attribute, type, pointers.data()) < 0) return damaged(what);
    for (size_t i = 0; i < count; ++i) list.push_back(pointers[i] ? pointers[i] : "");
    H5Dvlen_reclaim(type, space, H5P_DEFAULT, pointers.data());
    return list;
  }
  const size_t size = H5Tget_size(type);
  if (size == 0 || size > kMaxTextBytes || count * size > kMaxTextBytes) return damaged(what);
  std::string bytes(count * size, '\0');
  if (H5Aread(attribute, type, &bytes[0]) < 0) return damaged(what);
  for (size_t i = 0; i < count; ++i) {
    const std::string padded = bytes.substr(i * size, size);
    list.push_back(padded.substr(0, padded.find('\0')));
  }
  return list;
}

}  // namespace

Result<std::unique_ptr<Hdf5File>> Hdf5File::open(const std::string& path) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);  // errors are ours to tell
  DVNN_ASSIGN(const int fd, open_checked(path, kMaxBytes));
  close(fd);
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  if (file < 0) {
    return Error{ErrorCode::kMalformed,
                 "'" + path + "' is not an HDF5 file, or it is truncated or damaged"};
  }
  return std::unique_ptr<Hdf5File>(new Hdf5File(file));
}

Hdf5File::~Hdf5File() {
  H5Fclose(file_);
}

bool Hdf5File::has_attribute(const std::string& object, const std::string& name) const {
  return H5Aexists_by_name(file_, object.c_str(), name.c_str(), H5P_DEFAULT) > 0;
}

Result<std::string> Hdf5File::text(const std::string& object, const std::string& name) const {
  DVNN_ASSIGN(const auto list, read_texts(file_, object, name));
  if (list.size() == 1) return list[0];
  return Error{ErrorCode::kMalformed, format("attribute '%s' of '%s' has %zu texts, not 1",
                                             name.c_str(), object.c_str(), list.size())};
}

Result<std::vector<std::string>> Hdf5File::texts(const std::string& object,
                                                 const std::string& name) const {
  if (has_attribute(object, name)) return read_texts(file_, object, name);
  std::vector<std::string> all;
  for (int part = 0; has_attribute(object, name + std::to_string(part)); ++part) {
    DVNN_ASSIGN(const auto list, read_texts(file_, object, name + std::to_string(part)));
    all.insert(all.end(), list.begin(), list.end());
    if (all.size() > kMaxTexts) return damaged("attribute '" + name + "' of '" + object + "'");
  }
  return all;
}

Result<Hdf5Array> Hdf5File::array(const std::string& path) const {
  const std::string what = "data set '" + path + "'";
  const Handle data(H5Dopen2(file_, path.c_str(), H5P_DEFAULT), H5Dclose);
  if (!data) return Error{ErrorCode::kMalformed, what + " does not exist"};
  const Handle type(H5Dget_type(data), H5Tclose);
  const Handle space(H5Dget_space(data), H5Sclose);
  if (!type || !space) return damaged(what);
  if (H5Tget_class(type) != H5T_FLOAT) {
    return Error{ErrorCode::kMalformed, what + " does not hold real numbers"};
  }
  constexpr int kMaxRank = 6;
  hsize_t dims[kMaxRank] = {};
  const int rank = H5Sget_simple_extent_ndims(space);
  if (rank < 0 || rank > kMaxRank || H5Sget_simple_extent_dims(space, dims, nullptr) < 0) {
    return damaged(what);
  }
  Hdf5Array array;
  hsize_t count = 1;
  for (int i = 0; i < rank; ++i) {
    if (dims[i] == 0 || dims[i] > kMaxElements || (count *= dims[i]) > kMaxElements) {
      return Error{ErrorCode::kLimit, what + " has impossible dimensions"};
    }
    array.dims.push_back(static_cast<int64_t>(dims[i]));
  }
  array.values.resize(static_cast<size_t>(count));
  if (H5Dread(data, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, array.values.data()) < 0) {
    return damaged(what);
  }
  return array;
}

}  // namespace dvnn::convert
