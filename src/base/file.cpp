// SPDX-License-Identifier: Apache-2.0
#include "base/file.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "base/format.h"

namespace dvnn {
namespace {

// Of 32-bit systems, too (meson.build): files beyond 2 GiB, and times beyond 2038.
static_assert(sizeof(off_t) == 8 && sizeof(time_t) == 8);

// O_NONBLOCK makes opening a named pipe return at once; it changes nothing for regular files.
constexpr int kCareful = O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
constexpr mode_t kFileMode = 0666, kOwnFileMode = 0640;  // reduced by the umask
constexpr mode_t kOwnersMode = 0600;

Error failed(const std::string& path) {
  const int code = errno;
  return {code == ENOENT || code == ENXIO ? ErrorCode::kNotFound : ErrorCode::kIo,
          "'" + path + "': " + std::strerror(code)};
}

Error io_error(const char* what) {
  return {ErrorCode::kIo, std::string(what) + ": " + std::strerror(errno)};
}

Error not_regular(const std::string& path) {
  return {ErrorCode::kMalformed, "'" + path + "' is not a regular file"};
}

Error larger_than(const std::string& path, uint64_t most_bytes) {
  return {ErrorCode::kLimit, format("'%s' has more than %llu bytes", path.c_str(),
                                    static_cast<unsigned long long>(most_bytes))};
}

// Creates a file of a name that is not taken, beside `path`.
File create_beside(const std::string& path, Readers readers, std::string* name) {
  static std::atomic<unsigned> counter{0};
  constexpr int kMostTries = 100;  // names that a process of the same number has left
  for (int i = 0; i < kMostTries; ++i) {
    *name = format("%s.%d-%u", path.c_str(), static_cast<int>(getpid()), counter++);
    File file(open(name->c_str(), O_WRONLY | O_CREAT | O_EXCL | kCareful,
                   readers == Readers::kOwner ? kOwnersMode : kFileMode));
    if (file || errno != EEXIST) return file;
  }
  return File();
}

bool is_regular(const File& file) {
  struct stat facts {};
  return fstat(file.fd(), &facts) == 0 && S_ISREG(facts.st_mode);
}

}  // namespace

bool File::close() {
  return fd_ < 0 || ::close(release()) == 0;
}

uint64_t size_of(const File& file) {
  struct stat facts {};
  return fstat(file.fd(), &facts) == 0 && facts.st_size > 0 ? static_cast<uint64_t>(facts.st_size)
                                                            : 0;
}

Result<File> open_file(const std::string& path, uint64_t most_bytes) {
  File file(open(path.c_str(), O_RDONLY | kCareful));
  if (!file) return failed(path);
  if (!is_regular(file)) return not_regular(path);
  if (size_of(file) > most_bytes) return larger_than(path, most_bytes);
  return file;
}

Result<std::string> read_file(const std::string& path, uint64_t most_bytes) {
  DVNN_ASSIGN(const File file, open_file(path, most_bytes));
  constexpr uint64_t kChunk = 65536;  // read at least this: files of /proc have size 0, others grow
  const uint64_t size = size_of(file);
  std::string bytes;
  for (;;) {
    const uint64_t had = bytes.size();
    const uint64_t rest = std::max(size > had ? size - had : 0, kChunk);
    // One byte more than allowed shows that the file is too large.
    bytes.resize(static_cast<size_t>(had + std::min(rest, most_bytes - had) + 1));
    const ssize_t got = read(file.fd(), &bytes[static_cast<size_t>(had)], bytes.size() - had);
    if (got < 0 && errno != EINTR) return io_error("cannot be read").within("'" + path + "'");
    bytes.resize(static_cast<size_t>(had) + static_cast<size_t>(std::max<ssize_t>(got, 0)));
    if (got == 0) return bytes;
    if (bytes.size() > most_bytes) return larger_than(path, most_bytes);
  }
}

Status read_at(int fd, uint64_t offset, void* to, size_t size) {
  auto* bytes = static_cast<char*>(to);
  while (size > 0) {
    const ssize_t got = pread(fd, bytes, size, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return io_error("cannot be read");
    if (got == 0) return malformed("the file ends early (truncated?)");
    bytes += got;
    offset += static_cast<uint64_t>(got);
    size -= static_cast<size_t>(got);
  }
  return {};
}

Status write_all(int fd, const void* from, size_t size) {
  auto* bytes = static_cast<const char*>(from);
  while (size > 0) {
    const ssize_t written = write(fd, bytes, size);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return io_error("cannot be written");
    bytes += written;
    size -= static_cast<size_t>(written);
  }
  return {};
}

Result<File> create_file(const std::string& path) {
  // The file is truncated only once it is known to be regular.
  File file(open(path.c_str(), O_WRONLY | O_CREAT | kCareful, kFileMode));
  if (!file) return failed(path);
  if (!is_regular(file)) return not_regular(path);
  if (ftruncate(file.fd(), 0) != 0) return failed(path);
  return file;
}

Status write_file(const std::string& path, const std::string& bytes) {
  DVNN_ASSIGN(File file, create_file(path));
  const Status status = write_all(file.fd(), bytes.data(), bytes.size());
  if (!status.ok()) return status.error().within("'" + path + "'");
  if (!file.close()) return io_error("cannot be written").within("'" + path + "'");
  return {};
}

Status replace_file(const std::string& path, const std::vector<std::string_view>& parts,
                    Readers readers) {
  DVNN_TRY(check_regular(path));
  std::string name;
  File file = create_beside(path, readers, &name);
  if (!file) return failed(path);
  const auto write_parts = [&]() -> Status {
    for (const std::string_view part : parts) {
      DVNN_TRY(write_all(file.fd(), part.data(), part.size()));
    }
    if (fsync(file.fd()) != 0 || !file.close() || rename(name.c_str(), path.c_str()) != 0) {
      return io_error("cannot be written");
    }
    return {};
  };
  if (Status s = write_parts(); !s.ok()) {
    unlink(name.c_str());
    return s.error().within("'" + path + "'");
  }
  return {};
}

Status check_regular(const std::string& path) {
  struct stat facts {};
  if (stat(path.c_str(), &facts) == 0 && !S_ISREG(facts.st_mode)) return not_regular(path);
  return {};
}

Status check_folder(const std::string& path) {
  struct stat facts {};
  if (stat(path.c_str(), &facts) != 0) return failed(path);
  if (!S_ISDIR(facts.st_mode)) return invalid_argument("'" + path + "' is not a folder");
  if (faccessat(AT_FDCWD, path.c_str(), W_OK | X_OK, AT_EACCESS) != 0) return failed(path);
  return {};
}

Result<File> open_for_lines(const std::string& path) {
  constexpr mode_t kLinesMode = 0644;
  File file(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | kCareful, kLinesMode));
  if (file) return file;
  const int code = errno;
  return Error{code == ENOENT || code == ENXIO ? ErrorCode::kNotFound : ErrorCode::kIo,
               "'" + path + "' cannot be opened: " +
                   (code == ENXIO ? "nobody reads the pipe" : std::strerror(code))};
}

Result<File> open_folder(const std::string& path) {
  File folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (folder) return folder;
  return failed(path);
}

File open_own(const File& folder, const std::string& name, int flags) {
  File file(openat(folder.fd(), name.c_str(), flags | O_NOFOLLOW | kCareful, kOwnFileMode));
  struct stat facts {};
  if (!file || fstat(file.fd(), &facts) != 0) return {};
  if (S_ISREG(facts.st_mode) && facts.st_uid == geteuid() && facts.st_nlink == 1) return file;
  errno = EPERM;
  return {};
}

Status check_library(const std::string& path) {
  DVNN_TRY(check_regular(path));
  struct stat facts {};
  if (stat(path.c_str(), &facts) != 0 || facts.st_size > 0) return {};
  return malformed("'" + path + "' has no bytes: it is no library");
}

Result<void*> open_library(const std::string& path) {
  // Without a slash, dlopen() would search the system's folders.
  const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  DVNN_TRY(check_library(file));
  if (void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
  const char* why = dlerror();
  return Error{access(file.c_str(), F_OK) == 0 ? ErrorCode::kIo : ErrorCode::kNotFound,
               why ? why : "cannot be loaded"};
}

}  // namespace dvnn
