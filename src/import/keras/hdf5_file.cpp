// SPDX-License-Identifier: Apache-2.0
#include "import/keras/hdf5_file.h"

#include <hdf5.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/format.h"
#include "import/keras/hdf5_message.h"
#include "import/keras/hdf5_reader.h"
#include "import/keras/sandbox.h"
#include "import/model_file.h"

namespace dvnn::import {
namespace {

constexpr uint64_t kMaxFileBytes = uint64_t{1} << 30;
constexpr int kNotReady = 2;  // a reader's exit status before it has looked at the file

// Never returns. It reads the file's bytes in memory, as it can open nothing.
[[noreturn]] void run_reader(int file, int result) {
  struct stat st;
  if (fstat(file, &st) != 0 || st.st_size < 0) _exit(kNotReady);
  const auto size = static_cast<size_t>(st.st_size);
  // The memory is private: whatever a damaged file makes libhdf5 write to it is lost.
  void* const bytes = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
  if (bytes == MAP_FAILED || H5open() < 0 || !enter_sandbox(result, {})) _exit(kNotReady);
  constexpr int kResult = STDERR_FILENO + 1;  // where enter_sandbox() puts it
  bool good = false;
  try {
    Hdf5Contents contents;
    good = read_hdf5(static_cast<uint8_t*>(bytes), size, &contents);
    if (!good && !contents.refusal.empty()) {
      contents.attributes.clear();
      contents.arrays.clear();
      good = true;
    }
    const std::string message = good ? write_message(contents) : "";
    good = good && write_all(kResult, message.data(), message.size()).ok();
  } catch (...) {  // too large for its limits
    good = false;
  }
  _exit(good ? EXIT_SUCCESS : EXIT_FAILURE);
}

Result<std::string> read_result(const File& result) {
  std::string bytes(size_of(result), '\0');
  const Status status = read_at(result.fd(), 0, bytes.data(), bytes.size());
  if (!status.ok()) return status.error().within("a reader's result");
  return bytes;
}

}  // namespace

Result<std::unique_ptr<Hdf5File>> Hdf5File::open(const std::string& path) {
  DVNN_ASSIGN(const File file, open_model_file(path, kMaxFileBytes));
  return read_descriptor(file, path);
}

Result<std::unique_ptr<Hdf5File>> Hdf5File::read(const std::string& bytes,
                                                 const std::string& name) {
  const File file(memfd_create("weights", MFD_CLOEXEC));
  if (!file || !write_all(file.fd(), bytes.data(), bytes.size()).ok()) {
    return Error{ErrorCode::kNoMemory,
                 "'" + name + "': no memory to unpack it: " + std::strerror(errno)};
  }
  return read_descriptor(file, name);
}

Result<std::unique_ptr<Hdf5File>> Hdf5File::read_descriptor(const File& file,
                                                            const std::string& path) {
  const File result(memfd_create("hdf5", MFD_CLOEXEC));
  const pid_t reader = result ? fork() : -1;
  if (reader == 0) run_reader(file.fd(), result.fd());
  if (reader < 0) {
    return Error{ErrorCode::kNoMemory,
                 "'" + path + "': no process to read it with: " + std::strerror(errno)};
  }
  int status = 0;
  while (waitpid(reader, &status, 0) < 0 && errno == EINTR) continue;
  const auto bytes = read_result(result);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNotReady) {
    return Error{ErrorCode::kInternal, "'" + path + "': no sandbox to read it in can be made"};
  }
  Hdf5Contents contents;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != EXIT_SUCCESS || !bytes.ok() ||
      !read_message(bytes.value(), &contents)) {
    return Error{ErrorCode::kMalformed,
                 "'" + path + "' is not an HDF5 file, or it is truncated or damaged"};
  }
  if (!contents.refusal.empty()) {
    return Error{ErrorCode::kUnsupported,
                 "'" + path + "': data set or group " + printable(contents.refusal)};
  }
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
  return Error{ErrorCode::kMalformed,
               "attribute '" + name + "' of '" + object + "' is no single text"};
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
  return Error{ErrorCode::kMalformed,
               "data set '" + path + "' does not exist, or holds no real numbers"};
}

}  // namespace dvnn::import
