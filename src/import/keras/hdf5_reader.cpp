// SPDX-License-Identifier: Apache-2.0
#include "import/keras/hdf5_reader.h"

#include <hdf5.h>

#include <cstring>
#include <utility>

#include "base/format.h"
#include "import/model_file.h"

namespace dvnn::import {
namespace {

constexpr hsize_t kMaxElements = hsize_t{1} << 27;       // of all arrays together
constexpr size_t kMaxAttributeBytes = size_t{64} << 20;  // of all attributes together
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

struct H5Walk {
  Hdf5Contents* contents = nullptr;
  std::string object;  // path of the object whose attributes are read
  size_t file_bytes = 0;
  hsize_t elements = 0, array_bytes = 0;  // read so far
  size_t text_bytes = 0;

  bool refuse(const std::string& why) {
    contents->refusal = "data set or group '" + object + "' " + why;
    return false;
  }
  bool add_text(std::string text, std::vector<std::string>* list) {
    constexpr size_t kOverhead = 64;  // bytes of an entry beside its text
    text_bytes += text.size() + kOverhead;
    if (text_bytes > kMaxAttributeBytes) return refuse("has attributes of more than 64 MiB");
    list->push_back(std::move(text));
    return true;
  }
};

// Reads an attribute of strings; others are left out. Returns false if it cannot be read.
bool read_texts(hid_t attribute, H5Walk* walk, std::vector<std::string>* list) {
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
    bool good = true;
    for (const char* text : pointers) good = good && walk->add_text(text ? text : "", list);
    H5Dvlen_reclaim(type, space, H5P_DEFAULT, pointers.data());
    return good;
  }
  const size_t size = H5Tget_size(type);
  if (size == 0 || size > kMaxAttributeBytes || count * size > kMaxAttributeBytes) return false;
  std::string bytes(count * size, '\0');
  if (H5Aread(attribute, type, &bytes[0]) < 0) return false;
  for (size_t i = 0; i < count; ++i) {
    const std::string padded = bytes.substr(i * size, size);
    if (!walk->add_text(padded.substr(0, padded.find('\0')), list)) return false;
  }
  return true;
}

herr_t visit_attribute(hid_t object, const char* name, const H5A_info_t*, void* data) {
  H5Walk& walk = *static_cast<H5Walk*>(data);
  const Handle attribute(H5Aopen(object, name, H5P_DEFAULT), H5Aclose);
  if (!attribute) return -1;
  const Handle type(H5Aget_type(attribute), H5Tclose);
  const Handle space(H5Aget_space(attribute), H5Sclose);
  const bool empty = space && H5Sget_simple_extent_npoints(space) == 0;
  if (type && H5Tget_class(type) != H5T_STRING && !empty) return 0;
  return read_texts(attribute, &walk, &walk.contents->attributes[walk.object + "@" + name]) ? 0
                                                                                            : -1;
}

// Refuses data sets in other files, views, filtered ones, and those larger than the file.
bool is_plain(hid_t data, hsize_t bytes, H5Walk* walk) {
  const Handle made_by(H5Dget_create_plist(data), H5Pclose);
  if (!made_by) return false;
  if (H5Pget_external_count(made_by) != 0) return walk->refuse("keeps its data in another file");
  if (H5Pget_layout(made_by) == H5D_VIRTUAL) return walk->refuse("is a view of other data sets");
  if (H5Pget_nfilters(made_by) != 0) {
    return walk->refuse("is compressed or filtered: save it without");
  }
  walk->array_bytes += bytes;
  if (H5Dget_storage_size(data) < bytes || walk->array_bytes > walk->file_bytes) {
    return walk->refuse("claims more data than the file holds");
  }
  return true;
}

bool read_array(hid_t data, H5Walk* walk) {
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
    if (dims[i] == 0) return false;
    if (dims[i] > kMaxElements || (count *= dims[i]) > kMaxElements) {
      return walk->refuse("has more numbers than any model");
    }
    array.dims.push_back(static_cast<int64_t>(dims[i]));
  }
  if ((walk->elements += count) > kMaxElements) return false;
  if (!is_plain(data, count * H5Tget_size(type), walk)) return false;
  array.values.resize(static_cast<size_t>(count));
  if (H5Dread(data, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, array.values.data()) < 0) {
    return false;
  }
  walk->contents->arrays[walk->object] = std::move(array);
  return true;
}

herr_t visit_object(hid_t root, const char* name, const H5O_info_t* info, void* data) {
  H5Walk& walk = *static_cast<H5Walk*>(data);
  walk.object = std::string(name) == "." ? "/" : "/" + std::string(name);
  const Handle object(H5Oopen(root, name, H5P_DEFAULT), H5Oclose);
  if (!object) return -1;
  if (info->type == H5O_TYPE_DATASET) return read_array(object, &walk) ? 0 : -1;
  return H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_NATIVE, nullptr, visit_attribute, &walk);
}

// The file's image stays in our memory: libhdf5 calls these functions instead of copying it.
void* lend_image(size_t, H5FD_file_image_op_t, void* image) {
  return image;
}
void* keep_image(void* to, const void*, size_t, H5FD_file_image_op_t, void*) {
  return to;
}
void* never_grow(void*, size_t, H5FD_file_image_op_t, void*) {
  return nullptr;
}
herr_t take_back(void*, H5FD_file_image_op_t, void*) {
  return 0;
}
void* same_data(void* data) {
  return data;
}
herr_t leave_data(void*) {
  return 0;
}

}  // namespace

bool read_hdf5(uint8_t* bytes, size_t size, Hdf5Contents* contents) {
  constexpr size_t kGrowth = 65536;
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);  // the caller reports errors
  const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  H5FD_file_image_callbacks_t callbacks = {lend_image, keep_image, never_grow, take_back,
                                           same_data,  leave_data, bytes};
  if (!access || H5Pset_fapl_core(access, kGrowth, false) < 0 ||
      H5Pset_file_image_callbacks(access, &callbacks) < 0 ||
      H5Pset_file_image(access, bytes, size) < 0) {
    return false;
  }
  const Handle file(H5Fopen("/image", H5F_ACC_RDONLY, access), H5Fclose);
  if (!file) return false;
  H5Walk walk;
  walk.contents = contents;
  walk.file_bytes = size;
  return H5Ovisit(file, H5_INDEX_NAME, H5_ITER_NATIVE, visit_object, &walk) >= 0;
}

namespace {

constexpr uint64_t kMaxElementBytes = uint64_t{1} << 30;

void put_number(uint64_t value, std::string* out) {
  out->append(reinterpret_cast<const char*>(&value), sizeof value);
}

void put_text(const std::string& text, std::string* out) {
  put_number(text.size(), out);
  *out += text;
}

// Parses messages without trust.
class Reader {
 public:
  explicit Reader(const std::string& bytes) : bytes_(bytes) {}
  uint64_t number() {
    uint64_t value = 0;
    if (!take(sizeof value)) return 0;
    std::memcpy(&value, bytes_.data() + at_ - sizeof value, sizeof value);
    return value;
  }
  std::string text() {
    const uint64_t size = number();
    return take(size) ? bytes_.substr(at_ - size, size) : "";
  }
  // Returns the next `size` bytes in place, or null.
  const char* piece(uint64_t size) { return take(size) ? bytes_.data() + at_ - size : nullptr; }
  bool good() const { return good_; }
  bool done() const { return good_ && at_ == bytes_.size(); }

 private:
  bool take(uint64_t size) {
    good_ = good_ && size <= bytes_.size() - at_;
    if (good_) at_ += size;
    return good_;
  }
  const std::string& bytes_;
  size_t at_ = 0;
  bool good_ = true;
};

}  // namespace

std::string write_message(const Hdf5Contents& contents) {
  std::string out;
  put_text(contents.refusal, &out);
  if (!contents.refusal.empty()) return out;
  put_text(contents.config, &out);
  put_number(contents.attributes.size(), &out);
  for (const auto& [key, texts] : contents.attributes) {
    put_text(key, &out);
    put_number(texts.size(), &out);
    for (const std::string& text : texts) put_text(text, &out);
  }
  put_number(contents.arrays.size(), &out);
  for (const auto& [path, array] : contents.arrays) {
    put_text(path, &out);
    put_number(array.dims.size(), &out);
    for (int64_t d : array.dims) put_number(static_cast<uint64_t>(d), &out);
    put_text(
        {reinterpret_cast<const char*>(array.values.data()), array.values.size() * sizeof(float)},
        &out);
  }
  return out;
}

bool read_message(const std::string& bytes, Hdf5Contents* contents) {
  Reader in(bytes);
  contents->refusal = in.text();
  if (!contents->refusal.empty()) return in.done();
  contents->config = in.text();
  for (uint64_t left = in.number(); left > 0 && in.good(); --left) {
    std::vector<std::string>& list = contents->attributes[in.text()];
    for (uint64_t texts = in.number(); texts > 0 && in.good(); --texts) list.push_back(in.text());
  }
  for (uint64_t left = in.number(); left > 0 && in.good(); --left) {
    const auto [place, is_new] = contents->arrays.try_emplace(in.text());
    if (!is_new) return false;  // the dimensions of both would be concatenated
    Hdf5Array& array = place->second;
    uint64_t count = 1;
    for (uint64_t rank = in.number(); rank > 0 && in.good(); --rank) {
      const uint64_t extent = in.number();
      if (extent == 0 || extent > kMaxElementBytes / count) return false;
      count *= extent;
      array.dims.push_back(static_cast<int64_t>(extent));
    }
    if (in.number() != count * sizeof(float)) return false;
    const char* const values = in.piece(count * sizeof(float));
    if (!values) return false;
    array.values.resize(count);
    std::memcpy(array.values.data(), values, count * sizeof(float));
  }
  return in.done();
}

Result<Hdf5Contents> read_contents(const std::string& path, const SandboxLimits& limits,
                                   const ContentsReader& reader, const char* damage) {
  DVNN_ASSIGN(const File file, open_model_file(path, kMaxModelBytes));
  // libhdf5 is initialised outside the sandbox: inside, its system calls would fail.
  if (H5open() < 0) return Error{ErrorCode::kInternal, "libhdf5 does not begin"};
  const SandboxReader read = [&](uint8_t* bytes, size_t size, std::string* message) {
    Hdf5Contents contents;
    const bool good = reader(bytes, size, &contents);
    *message = write_message(contents);
    return good || !contents.refusal.empty();
  };
  DVNN_ASSIGN(const std::string message, read_in_sandbox(file, path, damage, limits, read));
  Hdf5Contents contents;
  if (!read_message(message, &contents)) return malformed("'" + path + "' " + damage);
  if (contents.refusal.empty()) return contents;
  return unsupported("'" + path + "': " + printable(contents.refusal));
}

}  // namespace dvnn::import
