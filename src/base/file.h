// SPDX-License-Identifier: Apache-2.0
// The one place that opens files whose paths others have chosen. Named pipes, devices and folders
// are refused with an error, because opening or reading one may block for ever. Reading is bounded
// by the caller's limit, even if the file grows or shrinks meanwhile. The test `file_openers` finds
// code that opens files in other ways. Shared libraries that users provide are loaded here, too.
#pragma once

#include <dlfcn.h>
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace dvnn {

/// Owns a file descriptor.
class File {
 public:
  File() = default;
  explicit File(int fd) : fd_(fd) {}
  File(File&& other) noexcept : fd_(other.release()) {}
  File& operator=(File&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { (void)close(); }

  explicit operator bool() const { return fd_ >= 0; }
  int fd() const { return fd_; }
  /// Releases the descriptor to the caller.
  int release() { return std::exchange(fd_, -1); }
  /// Returns false if the file system reports only now that a write has failed.
  bool close();

 private:
  int fd_ = -1;
};

/// Opens a regular file of at most `most_bytes` for reading. The error names the path.
Result<File> open_file(const std::string& path, uint64_t most_bytes);

/// Returns the size of an open file, or 0 if it is unknown.
uint64_t size_of(const File& file);

/// Reads a whole regular file of at most `most_bytes`, even if it grows meanwhile.
Result<std::string> read_file(const std::string& path, uint64_t most_bytes);

/// Reads `size` bytes from `offset` on. The error does not name the file.
Status read_at(int fd, uint64_t offset, void* to, size_t size);
/// Writes all bytes. The error does not name the file.
Status write_all(int fd, const void* from, size_t size);

/// Creates a file or empties an existing regular one. The error names the path.
Result<File> create_file(const std::string& path);
/// Creates or replaces a regular file with the given contents. The error names the path.
Status write_file(const std::string& path, const std::string& bytes);
/// Bytes as text that is not copied.
inline std::string_view bytes_as_text(const std::vector<uint8_t>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
/// Who may read a new file: whom the user's umask lets, or its owner alone.
enum class Readers { kUsual, kOwner };
/// Creates or replaces a regular file with the given parts, one behind the other. Readers see the
/// old contents or all of the new ones, even if the machine fails meanwhile. The error names the
/// path.
Status replace_file(const std::string& path, const std::vector<std::string_view>& parts,
                    Readers readers = Readers::kUsual);
/// Returns an error if the path is something other than a regular file. For callers that can only
/// pass a name on, to dlopen().
Status check_regular(const std::string& path);

/// Returns an error unless files can be created in the folder. That may change at any time, so this
/// serves to report hopeless cases early, not for safety.
Status check_folder(const std::string& path);

/// Opens a file, or anything else that takes lines, for appending. For a named pipe without a
/// reader the error is kNotFound; writing to a full one fails with EAGAIN.
Result<File> open_for_lines(const std::string& path);

/// Opens a folder without following a link in the last part of its path.
Result<File> open_folder(const std::string& path);

/// Opens a regular file that belongs to the process's user, without following a link. `flags` are
/// those of open(). On failure errno is set: EPERM if it is another kind of file, another user's,
/// or has several links.
File open_own(const File& folder, const std::string& name, int flags);

/// Returns an error for paths on which dlopen() would block or fail: named pipes, devices and empty
/// files (those of /proc have size 0, and some block until the next line). A missing file is not an
/// error.
Status check_library(const std::string& path);

/// Loads the library at `path`, and never a system library of that name. Returns kNotFound if there
/// is no such file, kIo with the reason if it cannot be loaded.
Result<void*> open_library(const std::string& path);

/// Loads the library at `path` and returns the list of classes that its function `symbol` returns;
/// `header` declares that function. Errors begin with `where`. The code stays loaded for the life
/// of the process, because C++ libraries cannot be unloaded safely.
template <typename Class>
Result<const Class* const*> open_classes(const std::string& where, const std::string& path,
                                         const char* symbol, const char* header) {
  const auto opened = open_library(path);
  if (!opened.ok()) return opened.error().within(where);
  using Classes = const Class* const* (*)();
  const auto classes = reinterpret_cast<Classes>(dlsym(opened.value(), symbol));
  const Class* const* list = classes ? classes() : nullptr;
  if (list) return list;
  return malformed(where + ": exports no " + symbol + "() (see " + header + ")");
}

}  // namespace dvnn
