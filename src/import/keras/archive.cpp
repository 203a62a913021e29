// SPDX-License-Identifier: Apache-2.0
#include "import/keras/archive.h"

#include <unistd.h>
#include <zip.h>

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
  std::string bytes(stat.size, '\0');
  const std::unique_ptr<zip_file_t, CloseEntry> entry(zip_fopen(archive, name, 0));
  const bool whole = entry && zip_fread(entry.get(), bytes.data(), bytes.size()) ==
                                  static_cast<zip_int64_t>(bytes.size());
  if (whole) return bytes;
  return Error{ErrorCode::kMalformed, format("'%s' in it is damaged", name)};
}

}  // namespace

bool is_keras_archive(const std::string& path) {
  auto fd = open_checked(path, static_cast<off_t>(kMaxArchiveBytes));
  if (!fd.ok()) return false;
  char magic[2] = {};
  const bool zipped = read(fd.value(), magic, 2) == 2 && magic[0] == 'P' && magic[1] == 'K';
  close(fd.value());
  return zipped;
}

Result<KerasArchive> read_keras_archive(const std::string& path) {
  DVNN_ASSIGN(const int fd, open_checked(path, static_cast<off_t>(kMaxArchiveBytes)));
  int reason = 0;
  const std::unique_ptr<zip_t, CloseArchive> archive(zip_fdopen(fd, 0, &reason));
  if (!archive) {
    close(fd);
    return Error{ErrorCode::kMalformed, "'" + path + "' is a damaged ZIP archive"};
  }
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
