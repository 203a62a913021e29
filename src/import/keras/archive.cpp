// SPDX-License-Identifier: Apache-2.0
#include "import/keras/archive.h"

#include <zip.h>

#include <algorithm>

#include "base/format.h"
#include "import/model_file.h"

namespace dvnn::import {
namespace {

constexpr uint64_t kMaxArchiveBytes = uint64_t{1} << 30, kMaxConfigBytes = uint64_t{16} << 20;

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
    return Error{ErrorCode::kMalformed, format("holds no '%s': not a Keras model?", name)};
  }
  if (stat.size > limit) {
    return Error{ErrorCode::kLimit, format("'%s' has %llu bytes, the limit is %llu", name,
                                           static_cast<unsigned long long>(stat.size),
                                           static_cast<unsigned long long>(limit))};
  }
  // The archive may lie about the size, so memory is taken for what comes.
  constexpr uint64_t kChunk = uint64_t{1} << 20;
  const std::unique_ptr<zip_file_t, CloseEntry> entry(zip_fopen(archive, name, 0));
  std::string bytes;
  while (entry && bytes.size() < stat.size) {
    const size_t had = bytes.size();
    bytes.resize(static_cast<size_t>(std::min(had + kChunk, stat.size)));
    const zip_int64_t got = zip_fread(entry.get(), &bytes[had], bytes.size() - had);
    bytes.resize(had + static_cast<size_t>(std::max<zip_int64_t>(got, 0)));
    if (got <= 0) break;
  }
  if (entry && bytes.size() == stat.size) return bytes;
  return Error{ErrorCode::kMalformed, format("'%s' in it is damaged", name)};
}

}  // namespace

bool is_keras_archive(const std::string& path) {
  const auto file = open_model_file(path, kMaxArchiveBytes);
  char magic[2] = {};
  return file.ok() && read_at(file.value().fd(), 0, magic, sizeof(magic)).ok() && magic[0] == 'P' &&
         magic[1] == 'K';
}

Result<KerasArchive> read_keras_archive(const std::string& path) {
  DVNN_ASSIGN(File file, open_model_file(path, kMaxArchiveBytes));
  int reason = 0;
  const std::unique_ptr<zip_t, CloseArchive> archive(zip_fdopen(file.fd(), 0, &reason));
  if (!archive) return Error{ErrorCode::kMalformed, "'" + path + "' is a damaged ZIP archive"};
  (void)file.release();  // it is the archive's
  KerasArchive keras;
  auto config = read_entry(archive.get(), "config.json", kMaxConfigBytes);
  if (!config.ok()) return config.error().within("'" + path + "'");
  keras.config = std::move(config.value());
  auto weights = read_entry(archive.get(), "model.weights.h5", kMaxArchiveBytes);
  if (!weights.ok()) return weights.error().within("'" + path + "'");
  DVNN_ASSIGN(keras.weights, Hdf5File::read(weights.value(), path + "/model.weights.h5"));
  return keras;
}

}  // namespace dvnn::import
