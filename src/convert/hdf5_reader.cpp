// SPDX-License-Identifier: Apache-2.0
#include "convert/hdf5_reader.h"

#include <hdf5.h>

#include <algorithm>

namespace dvnn::convert {
namespace {

constexpr hsize_t kMaxElements = hsize_t{1} << 28;  // of all arrays together
constexpr size_t kMaxTextBytes = size_t{64} << 20;
constexpr hsize_t kMaxTexts = 100000;
constexpr int kMaxRank = 6;

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

struct Walk {
  Hdf5Contents* contents;
  std::string object;  // whose attributes are read
  hsize_t elements = 0;
};

// False if it cannot be read; other things than texts are left out.
bool read_texts(hid_t attribute, std::vector<std::string>* list) {
  const Handle type(H5Aget_type(attribute), H5Tclose);
  const Handle space(H5Aget_space(attribute), H5Sclose);
  if (!type || !space) return false;
  const hssize_t points = H5Sget_simple_extent_npoints(space);
  if (points == 0) return true;  // an empty list has lost its type
  if (points < 0 || static_cast<hsize_t>(points) > kMaxTexts) return false;
  const size_t count = static_cast<size_t>(points);
  if (H5Tis_variable_str(type) > 0) {
    std::vector<char*> pointers(count, nullptr);
    if (H5Aread(attribute, type, pointers.data()) < 0) return false;
    for (const char* text : pointers) list->push_back(text ? text : "");
    H5Dvlen_reclaim(type, space, H5P_DEFAULT, pointers.data());
    return true;
  }
  const size_t size = H5Tget_size(type);
  if (size == 0 || size > kMaxTextBytes || count * size > kMaxTextBytes) return false;
  std::string bytes(count * size, '\0');
  if (H5Aread(attribute, type, &bytes[0]) < 0) return false;
  for (size_t i = 0; i < count; ++i) {
    const std::string padded = bytes.substr(i * size, size);
    list->push_back(padded.substr(0, padded.find('\0')));
  }
  return true;
}

herr_t visit_attribute(hid_t object, const char* name, const H5A_info_t*, void* data) {
  Walk& walk = *static_cast<Walk*>(data);
  const Handle attribute(H5Aopen(object, name, H5P_DEFAULT), H5Aclose);
  if (!attribute) return -1;
  const Handle type(H5Aget_type(attribute), H5Tclose);
  const Handle space(H5Aget_space(attribute), H5Sclose);
  const bool empty = space && H5Sget_simple_extent_npoints(space) == 0;
  if (type && H5Tget_class(type) != H5T_STRING && !empty) return 0;
  return read_texts(attribute, &walk.contents->attributes[walk.object + "@" + name]) ? 0 : -1;
}

bool read_array(hid_t data, Walk* walk) {
  const Handle type(H5Dget_type(data), H5Tclose);
  const Handle space(H5Dget_space(data), H5Sclose);
  if (!type || !space) return false;
  if (H5Tget_class(type) != H5T_FLOAT) return true;
  hsize_t dims[kMaxRank] = {};
  const int rank = H5Sget_simple_extent_ndims(space);
  if (rank < 0 || rank > kMaxRank || H5Sget_simple_extent_dims(space, dims, nullptr) < 0) {
    return false;
  }
  Hdf5Array array;
  hsize_t count = 1;
  for (int i = 0; i < rank; ++i) {
    if (dims[i] == 0 || dims[i] > kMaxElements || (count *= dims[i]) > kMaxElements) return false;
    array.dims.push_back(static_cast<int64_t>(dims[i]));
  }
  if ((walk->elements += count) > kMaxElements) return false;
  array.values.resize(static_cast<size_t>(count));
  if (H5Dread(data, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, array.values.data()) < 0) {
    return false;
  }
  walk->contents->arrays[walk->object] = std::move(array);
  return true;
}

herr_t visit_object(hid_t root, const char* name, const H5O_info_t* info, void* data) {
  Walk& walk = *static_cast<Walk*>(data);
  walk.object = std::string(name) == "." ? "/" : "/" + std::string(name);
  const Handle object(H5Oopen(root, name, H5P_DEFAULT), H5Oclose);
  if (!object) return -1;
  if (info->type == H5O_TYPE_DATASET) return read_array(object, &walk) ? 0 : -1;
  return H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_NATIVE, nullptr, visit_attribute, &walk);
}

}  // namespace

bool read_hdf5(const std::string& path, Hdf5Contents* contents) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);  // errors are told by the caller
  const Handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  if (!file) return false;
  Walk walk = {contents, "", 0};
  return H5Ovisit(file, H5_INDEX_NAME, H5_ITER_NATIVE, visit_object, &walk) >= 0;
}

}  // namespace dvnn::convert
