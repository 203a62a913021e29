// SPDX-License-Identifier: Apache-2.0
#include "convert/hdf5_file.h"

#include <hdf5.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/format.h"
#include "convert/hdf5_reader.h"
#include "convert/model_file.h"
#include "convert/sandbox.h"

namespace dvnn::convert {
namespace {

constexpr uint64_t kMaxBytes = uint64_t{1} << 30;
constexpr int kNotReady = 2;  // a reader's exit status before it has looked at the file

// --- the messages between the two processes ----------------------------------------------------

void put_number(uint64_t value, std::string* out) {
  out->append(reinterpret_cast<const char*>(&value), sizeof value);
}

void put_text(const std::string& text, std::string* out) {
  put_number(text.size(), out);
  *out += text;
}

std::string serialised(const Hdf5Contents& contents) {
  std::string out;
  put_text(contents.refusal, &out);
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

// Takes messages apart without trust in them.
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
    return take(size) ? bytes_.substr(at_ - static_cast<size_t>(size), static_cast<size_t>(size))
                      : "";
  }
  // `size` bytes where they are, or null.
  const char* piece(uint64_t size) {
    return take(size) ? bytes_.data() + at_ - static_cast<size_t>(size) : nullptr;
  }
  bool good() const { return good_; }
  bool done() const { return good_ && at_ == bytes_.size(); }

 private:
  bool take(uint64_t size) {
    good_ = good_ && size <= bytes_.size() - at_;
    if (good_) at_ += static_cast<size_t>(size);
    return good_;
  }
  const std::string& bytes_;
  size_t at_ = 0;
  bool good_ = true;
};

bool parse(const std::string& bytes, Hdf5Contents* contents) {
  Reader in(bytes);
  contents->refusal = in.text();
  for (uint64_t left = in.number(); left > 0 && in.good(); --left) {
    std::vector<std::string>& list = contents->attributes[in.text()];
    for (uint64_t texts = in.number(); texts > 0 && in.good(); --texts) list.push_back(in.text());
  }
  for (uint64_t left = in.number(); left > 0 && in.good(); --left) {
    Hdf5Array& array = contents->arrays[in.text()];
    uint64_t count = 1;
    for (uint64_t rank = in.number(); rank > 0 && in.good(); --rank) {
      const uint64_t extent = in.number();
      if (extent == 0 || extent > kMaxBytes / count) return false;
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

// --- the two processes -------------------------------------------------------------------------

bool write_all(int fd, const std::string& bytes) {
  for (size_t at = 0; at < bytes.size();) {
    const ssize_t n = write(fd, bytes.data() + at, bytes.size() - at);
    if (n <= 0) return false;
    at += static_cast<size_t>(n);
  }
  return true;
}

// Never returns. It reads the file's bytes in memory, as it can open nothing.
[[noreturn]] void run_reader(int file, int result) {
  struct stat st;
  if (fstat(file, &st) != 0 || st.st_size < 0) _exit(kNotReady);
  const auto size = static_cast<size_t>(st.st_size);
  // Ours alone: what a damaged file makes libhdf5 write is lost.
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
    good = good && write_all(kResult, serialised(contents));
  } catch (...) {  // too large for its limits
    good = false;
  }
  _exit(good ? EXIT_SUCCESS : EXIT_FAILURE);
}

Result<std::string> read_result(int fd) {
  std::string bytes;
  const off_t size = lseek(fd, 0, SEEK_END);
  if (size < 0 || lseek(fd, 0, SEEK_SET) != 0) {
    return Error{ErrorCode::kInternal, std::string("a reader's result: ") + std::strerror(errno)};
  }
  bytes.resize(static_cast<size_t>(size));
  for (size_t at = 0; at < bytes.size();) {
    const ssize_t n = read(fd, &bytes[at], bytes.size() - at);
    if (n <= 0) return Error{ErrorCode::kInternal, "a reader's result is cut short"};
    at += static_cast<size_t>(n);
  }
  return bytes;
}

}  // namespace

Result<std::unique_ptr<Hdf5File>> Hdf5File::open(const std::string& path) {
  DVNN_ASSIGN(const int fd, open_checked(path, kMaxBytes));
  const int result = memfd_create("hdf5", MFD_CLOEXEC);
  const pid_t reader = result >= 0 ? fork() : -1;
  if (reader == 0) run_reader(fd, result);
  close(fd);
  if (reader < 0) {
    if (result >= 0) close(result);
    return Error{ErrorCode::kNoMemory,
                 "'" + path + "': no process to read it with: " + std::strerror(errno)};
  }
  int status = 0;
  while (waitpid(reader, &status, 0) < 0 && errno == EINTR) continue;
  auto bytes = read_result(result);
  close(result);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNotReady) {
    return Error{ErrorCode::kInternal, "'" + path + "': no sandbox to read it in can be made"};
  }
  Hdf5Contents contents;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != EXIT_SUCCESS || !bytes.ok() ||
      !parse(bytes.value(), &contents)) {
    return Error{ErrorCode::kMalformed,
                 "'" + path + "' is not an HDF5 file, or it is truncated or damaged"};
  }
  if (!contents.refusal.empty()) {
    return Error{ErrorCode::kUnsupported,
                 "'" + path + "': data set or group " + printable(contents.refusal)};
  }
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

}  // namespace dvnn::convert
