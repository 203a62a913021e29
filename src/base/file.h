// SPDX-License-Identifier: Apache-2.0
// The one way to open a file whose path somebody else has chosen. Named pipes, devices and folders
// are refused in a sentence: opening or reading one may wait for ever. What is read is bounded by
// what the caller allows, even if the file grows or shrinks meanwhile. The test `file_openers`
// finds code that opens files in another way.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <utility>

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
  /// Gives the descriptor to the caller.
  int release() { return std::exchange(fd_, -1); }
  /// False if the file system has only now found out that a write failed.
  bool close();

 private:
  int fd_ = -1;
};

/// Opens a regular file of at most `most_bytes` for reading. The error names the path.
Result<File> open_file(const std::string& path, uint64_t most_bytes);

/// The size of an open file; 0 if it cannot be told.
uint64_t size_of(const File& file);

/// Everything in a regular file that has at most `most_bytes`, also if it grows while it is read.
Result<std::string> read_file(const std::string& path, uint64_t most_bytes);

/// Reads `size` bytes from `offset` on. The error does not name the file.
Status read_at(int fd, uint64_t offset, void* to, size_t size);
/// Writes all of them. The error does not name the file.
Status write_all(int fd, const void* from, size_t size);

/// Makes a file, or replaces what a regular file holds. The error names the path.
Result<File> create_file(const std::string& path);
/// The same, with these bytes.
Status write_file(const std::string& path, const std::string& bytes);
/// An error if something other than a regular file has this path: for those who only have a name to
/// give, to dlopen() or rename().
Status check_regular(const std::string& path);

/// An error unless files can be made in that folder. Somebody may change that at any time, so this
/// is for telling early what has no chance, and not for safety.
Status check_folder(const std::string& path);

/// Opens a file, or anything else that takes lines, for appending. A named pipe that nobody reads
/// is the error kNotFound; writing to a full one fails with EAGAIN.
Result<File> open_for_lines(const std::string& path);

/// Opens the folder without following a link in its last part.
Result<File> open_folder(const std::string& path);

/// Opens, without following a link, a regular file that belongs to this process's user. `flags` are
/// those of open(). errno tells what is wrong: EPERM for something else, or somebody else's.
File open_own(const File& folder, const std::string& name, int flags);

}  // namespace dvnn
