// SPDX-License-Identifier: Apache-2.0
// Our side of reading HDF5: files that libhdf5 itself has written, so that they are sound, of every
// kind of object that it knows. Damaged bytes are left to the sandbox: libhdf5 1.10 reads and
// writes out of bounds on them, which is why it runs in one, and would end this target at once
// (tests/robustness/security/test_hostile_hdf5.cpp).
#include <hdf5.h>

#include <functional>
#include <vector>

#include "fuzzed_data.h"
#include "import/keras/hdf5_reader.h"
#include "target.h"

namespace dvnn::fuzz::hdf5_target {

using fuzz::FuzzedData;

namespace {

struct Handle {
  Handle(hid_t of, herr_t (*close_it)(hid_t)) : id(of), close(close_it) {}
  ~Handle() {
    if (id >= 0) close(id);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  operator hid_t() const { return id; }
  hid_t id;
  herr_t (*close)(hid_t);
};

hid_t any_type(FuzzedData* in) {
  const hid_t types[] = {H5T_IEEE_F32LE, H5T_IEEE_F64BE, H5T_IEEE_F32BE, H5T_STD_I32LE,
                         H5T_STD_U8LE,   H5T_C_S1,       H5T_STD_REF_OBJ};
  const hid_t made = H5Tcopy(in->one_of(types));
  const uint8_t odd = in->byte();
  if (H5Tget_class(made) == H5T_STRING) {
    H5Tset_size(made, odd & 1 ? H5T_VARIABLE : static_cast<size_t>(1 + odd / 2));
    if (odd & 64) H5Tset_strpad(made, H5T_STR_SPACEPAD);
  } else if (odd >= 240) {
    const hsize_t dims[] = {2, 2};
    const hid_t array = H5Tarray_create2(made, 2, dims);
    H5Tclose(made);
    return array;
  } else if (odd >= 224) {
    const hid_t compound = H5Tcreate(H5T_COMPOUND, 16);
    H5Tinsert(compound, "a", 0, made);
    H5Tclose(made);
    return compound;
  } else if (odd >= 208) {
    const hid_t list = H5Tvlen_create(made);
    H5Tclose(made);
    return list;
  }
  return made;
}

hid_t any_space(FuzzedData* in, hsize_t dims[8], int* rank) {
  const uint8_t kind = in->byte();
  *rank = 0;
  if (kind >= 248) return H5Screate(H5S_NULL);
  if (kind >= 224) return H5Screate(H5S_SCALAR);
  *rank = static_cast<int>(kind & 7) + 1;
  hsize_t most[8];
  for (int i = 0; i < *rank; ++i) {
    const bool huge = in->rarely();
    dims[i] = static_cast<hsize_t>(huge ? in->any<uint32_t>() : in->in(0, 4));
    most[i] = dims[i];
  }
  return H5Screate_simple(*rank, dims, most);
}

// Chooses how a data set is kept: mostly as its bytes.
void choose_storage(FuzzedData* in, hid_t list, const hsize_t* dims, int rank, hid_t space) {
  hsize_t chunk[8];
  for (int i = 0; i < rank; ++i) chunk[i] = std::max<hsize_t>(1, std::min<hsize_t>(dims[i], 3));
  switch (in->byte() % 16) {
    case 1:
      H5Pset_layout(list, H5D_COMPACT);
      break;
    case 2:
      if (rank > 0) H5Pset_chunk(list, rank, chunk);
      break;
    case 3:
      if (rank > 0) H5Pset_chunk(list, rank, chunk);
      H5Pset_deflate(list, 1);
      break;
    case 4:
      if (rank > 0) H5Pset_chunk(list, rank, chunk);
      H5Pset_shuffle(list);
      H5Pset_fletcher32(list);
      break;
    case 5:
      H5Pset_external(list, "/nowhere/secret", 0, H5F_UNLIMITED);
      break;
    case 6:
      H5Pset_virtual(list, space, "/nowhere/other", "x", space);
      break;
    case 7:
      H5Pset_alloc_time(list, H5D_ALLOC_TIME_EARLY);
      break;
    default:
      break;
  }
}

std::string any_name(FuzzedData* in) {
  static const char* const kNames[] = {
      "x", "model_weights", "c", "c/kernel:0", "a/b/c", "../x", "/", ".", ""};
  const uint8_t kind = in->byte();
  return kind < 192 ? kNames[kind % std::size(kNames)] : in->text(12);
}

void add_attribute(FuzzedData* in, hid_t object) {
  static const char* const kNames[] = {"model_config", "keras_version", "weight_names",
                                       "weight_names0"};
  hsize_t dims[8] = {};
  int rank = 0;
  const Handle type(any_type(in), H5Tclose), space(any_space(in, dims, &rank), H5Sclose);
  const hssize_t points = H5Sget_simple_extent_npoints(space);
  if (points < 0 || points > 64) return;
  const Handle attribute(
      H5Acreate2(object, in->one_of(kNames), type, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  const bool pointers = H5Tis_variable_str(type) > 0;
  if (attribute < 0 || (!pointers && H5Tget_class(type) != H5T_STRING)) return;
  const std::string text = in->text(200);
  const std::vector<const char*> texts(static_cast<size_t>(points), text.c_str());
  std::string padded = text;
  padded.resize(text.size() + H5Tget_size(type) * static_cast<size_t>(points), 'x');
  H5Awrite(attribute, type, pointers ? static_cast<const void*>(texts.data()) : padded.data());
}

void add_data_set(FuzzedData* in, hid_t file) {
  hsize_t dims[8] = {};
  int rank = 0;
  const Handle type(any_type(in), H5Tclose), space(any_space(in, dims, &rank), H5Sclose);
  const Handle list(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  const Handle links(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
  H5Pset_create_intermediate_group(links, 1);
  const hssize_t points = H5Sget_simple_extent_npoints(space);
  const uint8_t storage = in->byte();
  // Storage that is allotted at once has to be small.
  if (points >= 0 && points <= 4096) choose_storage(in, list, dims, rank, space);
  const Handle set(H5Dcreate2(file, any_name(in).c_str(), type, space, links, list, H5P_DEFAULT),
                   H5Dclose);
  if (set < 0) return;
  if (H5Tget_class(type) == H5T_FLOAT && points >= 0 && points <= 4096 && storage < 224 &&
      H5Pget_external_count(list) == 0 && H5Pget_layout(list) != H5D_VIRTUAL) {
    const std::vector<float> values(static_cast<size_t>(points), 1.5f);
    H5Dwrite(set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
  }
  if (in->flag()) add_attribute(in, set);
}

void add_object(FuzzedData* in, hid_t file) {
  switch (in->byte() % 8) {
    case 0: {
      const Handle group(
          H5Gcreate2(file, any_name(in).c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
      if (group >= 0) add_attribute(in, group);
      break;
    }
    case 1:
      add_attribute(in, file);
      break;
    case 2:
      H5Lcreate_soft(any_name(in).c_str(), file, any_name(in).c_str(), H5P_DEFAULT, H5P_DEFAULT);
      break;
    case 3:
      H5Lcreate_external("/nowhere/else", "/x", file, any_name(in).c_str(), H5P_DEFAULT,
                         H5P_DEFAULT);
      break;
    case 4:  // a ring of groups, perhaps
      H5Lcreate_hard(file, any_name(in).c_str(), file, any_name(in).c_str(), H5P_DEFAULT,
                     H5P_DEFAULT);
      break;
    default:
      add_data_set(in, file);
  }
}

std::vector<uint8_t> make_file(FuzzedData* in) {
  constexpr size_t kGrowth = 4096;
  constexpr int kMostObjects = 8;
  const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  H5Pset_fapl_core(access, kGrowth, false);
  if (in->flag()) H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
  const Handle file(H5Fcreate("/fuzz", H5F_ACC_TRUNC, H5P_DEFAULT, access), H5Fclose);
  for (int i = 0; i < kMostObjects && in->left() > 0; ++i) add_object(in, file);
  H5Fflush(file, H5F_SCOPE_GLOBAL);
  const ssize_t size = H5Fget_file_image(file, nullptr, 0);
  std::vector<uint8_t> bytes(static_cast<size_t>(std::max<ssize_t>(size, 0)));
  if (!bytes.empty()) H5Fget_file_image(file, bytes.data(), bytes.size());
  return bytes;
}

}  // namespace

static void prepare() {
  H5open();
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

static void try_input(const uint8_t* data, size_t size) {
  FuzzedData in(data, size);
  std::vector<uint8_t> bytes = make_file(&in);
  if (bytes.empty()) return;
  import::Hdf5Contents contents, told;
  if (!import::read_hdf5(bytes.data(), bytes.size(), &contents)) return;
  ++fuzz::accepted;
  uint64_t held = 0;
  for (const auto& [path, array] : contents.arrays) {
    int64_t elements = 1;
    for (int64_t d : array.dims) elements *= d;
    if (elements != static_cast<int64_t>(array.values.size())) std::abort();
    held += array.values.size();
  }
  // An array is bytes of the file.
  if (held > bytes.size()) std::abort();
  const std::string message = import::write_message(contents);
  if (!import::read_message(message, &told) || import::write_message(told) != message) {
    std::abort();
  }
}

DVNN_FUZZ_TARGET(hdf5)

}  // namespace dvnn::fuzz::hdf5_target
