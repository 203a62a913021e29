// SPDX-License-Identifier: Apache-2.0
#include "tools/get/model_cache.h"

#include <fcntl.h>
#include <glib.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "base/format.h"
#include "tools/get/download.h"

namespace dvnn::tools {
namespace {

constexpr int kOwnFolder = 0700;

Error cache_error(const std::string& what) {
  const int code = errno;
  return {ErrorCode::kIo, "'" + what + "': " + std::strerror(code)};
}

// The hash is in the name, as files of several models have the same one.
std::string cache_place(const ModelFile& file) {
  constexpr size_t kDigits = 16;
  return file.sha256.substr(0, kDigits) + "-" + file.name;
}

std::string cache_part(const ModelFile& file) {
  return cache_place(file) + ".part";
}

struct FreeChecksum {
  void operator()(GChecksum* sum) const { g_checksum_free(sum); }
};

// Calls take(bytes, count) for a file of `size` bytes, block by block.
template <typename Take>
Status for_each_block(const File& file, uint64_t size, Take take) {
  constexpr uint64_t kBlock = 1 << 16;
  std::vector<uint8_t> block(kBlock);
  for (uint64_t at = 0; at < size; at += kBlock) {
    const auto count = static_cast<size_t>(std::min(kBlock, size - at));
    DVNN_TRY(read_at(file.fd(), at, block.data(), count));
    DVNN_TRY(take(block.data(), count));
  }
  return {};
}

// Checks size and hash. The error has both values of what differs.
Status check_file(const ModelFile& wanted, const File& file, const std::string& path) {
  const uint64_t size = size_of(file);
  if (size != wanted.bytes) {
    return malformed(format("'%s' has %llu bytes, and '%s' has %llu", path.c_str(),
                            static_cast<unsigned long long>(size), wanted.name.c_str(),
                            static_cast<unsigned long long>(wanted.bytes)));
  }
  const std::unique_ptr<GChecksum, FreeChecksum> sum(g_checksum_new(G_CHECKSUM_SHA256));
  DVNN_TRY(for_each_block(file, size, [&](const uint8_t* bytes, size_t count) -> Status {
    g_checksum_update(sum.get(), bytes, static_cast<gssize>(count));
    return {};
  }));
  const std::string hash = g_checksum_get_string(sum.get());
  if (hash == wanted.sha256) return {};
  return malformed("'" + path + "' has the SHA-256 " + hash + ", and '" + wanted.name + "' has " +
                   wanted.sha256);
}

}  // namespace

Result<ModelCache> ModelCache::open() {
  ModelCache cache;
  cache.path_ = std::string(g_get_user_cache_dir()) + "/dvnn/models";
  if (g_mkdir_with_parents(cache.path_.c_str(), kOwnFolder) != 0) {
    return cache_error(cache.path_).within("the cache cannot be made");
  }
  auto folder = open_folder(cache.path_);
  if (!folder.ok()) return folder.error().within("the cache cannot be opened");
  cache.folder_ = std::move(folder.value());
  return cache;
}

Result<std::string> ModelCache::find(const ModelFile& file) const {
  const std::string place = cache_place(file), path = path_ + "/" + place;
  const File found = open_own(folder_, place, O_RDONLY);
  if (!found && errno == ENOENT) return Error{ErrorCode::kNotFound, "'" + path + "' is not there"};
  if (!found) return cache_error(path).within("the cache holds what is not a file of yours");
  const Status right = check_file(file, found, path);
  if (right.ok()) return path;
  std::fprintf(stderr, "dvnet: %s: it is removed\n", printable(right.error().message).c_str());
  if (unlinkat(folder_.fd(), place.c_str(), 0) != 0) return cache_error(path);
  return Error{ErrorCode::kNotFound, right.error().message};
}

// Opens the part of a file that nobody else is fetching.
Result<File> ModelCache::open_part(const ModelFile& file) const {
  const std::string part = cache_part(file), path = path_ + "/" + part;
  File opened = open_own(folder_, part, O_RDWR | O_CREAT);
  if (!opened) return cache_error(path);
  if (flock(opened.fd(), LOCK_EX | LOCK_NB) == 0) return opened;
  return Error{ErrorCode::kIo, "'" + path + "': another dvnet is fetching it"};
}

// Gives a part its place if it is right, and removes it if not.
Result<std::string> ModelCache::keep(const ModelFile& file, const File& part,
                                     const std::string& from) const {
  const std::string place = cache_place(file), name = cache_part(file);
  if (const Status right = check_file(file, part, from); !right.ok()) {
    unlinkat(folder_.fd(), name.c_str(), 0);
    return right.error();
  }
  if (fsync(part.fd()) != 0 ||
      renameat(folder_.fd(), name.c_str(), folder_.fd(), place.c_str()) != 0) {
    return cache_error(path_ + "/" + place);
  }
  return path_ + "/" + place;
}

Result<std::string> ModelCache::from_url(const ModelFile& file, const std::string& url,
                                         int stall_seconds) const {
  DVNN_ASSIGN(const File part, open_part(file));
  const std::string name = cache_part(file);
  // Another dvnet may have finished it since.
  if (auto there = find(file); there.ok()) {
    unlinkat(folder_.fd(), name.c_str(), 0);
    return there;
  }
  const bool continued = size_of(part) > 0;
  if (const Status came = download(url, file.bytes, stall_seconds, part); !came.ok()) {
    if (size_of(part) == 0) unlinkat(folder_.fd(), name.c_str(), 0);
    return came.error();
  }
  auto kept = keep(file, part, url);
  if (kept.ok() || !continued) return kept;
  // The beginning was another file's. It is removed, so this is the last try.
  return from_url(file, url, stall_seconds);
}

Result<std::string> ModelCache::fetch(const ModelFile& file, int stall_seconds) const {
  auto found = find(file);
  if (found.ok() || found.error().code != ErrorCode::kNotFound) return found;
  std::string problems;
  for (const std::string& url : file.urls) {
    auto came = from_url(file, url, stall_seconds);
    if (came.ok()) return came;
    problems += (problems.empty() ? "" : "; ") + came.error().message;
  }
  return Error{ErrorCode::kIo, problems};
}

Result<std::string> ModelCache::take(const ModelFile& file, const std::string& path) const {
  DVNN_ASSIGN(const File from, open_file(path, UINT64_MAX));
  DVNN_TRY(check_file(file, from, path));
  DVNN_ASSIGN(const File part, open_part(file));
  if (ftruncate(part.fd(), 0) != 0) return cache_error(path_ + "/" + cache_part(file));
  DVNN_TRY(for_each_block(from, file.bytes, [&](const uint8_t* bytes, size_t count) {
    return write_all(part.fd(), bytes, count);
  }));
  return keep(file, part, path);
}

}  // namespace dvnn::tools
