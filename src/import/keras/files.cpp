// SPDX-License-Identifier: Apache-2.0
#include "import/keras/files.h"

#include <zip.h>

#include <algorithm>

#include "base/format.h"
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

}  // namespace dvnn::import
