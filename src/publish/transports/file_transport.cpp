// SPDX-License-Identifier: Apache-2.0
// A line for each message: into a file, which is rotated by size or time, or into a pipe, whose
// reader may come and go. A message counts as delivered when its line is written as a whole.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>

#include "base/file.h"
#include "base/format.h"
#include "publish/transports/transports.h"

namespace dvnn::publish {
namespace {

constexpr size_t kFileWindow = 64;

class FileTransport final : public Transport {
 public:
  FileTransport(const TransportRequest& request, uint64_t rotate_bytes, int64_t rotate_seconds,
                int keep)
      : path_(request.address.path),
        rotate_bytes_(rotate_bytes),
        rotate_seconds_(rotate_seconds),
        keep_(keep),
        listener_(request.listener) {}
  ~FileTransport() override { close(); }

  void connect() override {
    close();
    // A pipe without a reader is treated like a broker that is away. Standard output and error are
    // used as they are: each may be a socket, or a file whose offset others share.
    const bool opened = path_ == "/dev/stdout" || path_ == "/dev/stderr";
    if (opened) {
      file_ =
          File(fcntl(path_ == "/dev/stdout" ? STDOUT_FILENO : STDERR_FILENO, F_DUPFD_CLOEXEC, 3));
      if (!file_) return listener_->lost("'" + path_ + "' is not open");
    } else {
      auto file = open_for_lines(path_);
      if (!file.ok()) return listener_->lost(file.error().message);
      file_ = std::move(file.value());
    }
    struct stat facts {};
    regular_ = !opened && fstat(file_.fd(), &facts) == 0 && S_ISREG(facts.st_mode);
    bytes_ = regular_ ? static_cast<uint64_t>(facts.st_size) : 0;
    opened_ = std::chrono::steady_clock::now();
    end_torn_line();
    listener_->ready({});
  }

  bool send(uint64_t token, const Message& message) override {
    if (!file_) return false;
    if (!finish_rest()) return false;
    if (wants_rotation() && !rotate()) return false;
    rest_ = message.body + '\n';
    rest_token_ = token;
    const uint64_t before = bytes_;
    const bool whole = finish_rest();
    // A pipe has taken the line, or will get the rest; of a file without room, the part that was
    // written is cut off again.
    if (!file_ && regular_) bytes_ = before;
    return whole || static_cast<bool>(file_);
  }

  size_t window() const override { return kFileWindow; }

  void close() override {
    file_ = File();
    rest_.clear();
    rest_token_ = 0;
  }

 private:
  // Ends a line that a crash has cut, so that the next message is a line of its own.
  void end_torn_line() {
    if (!regular_ || bytes_ == 0) return;
    const auto reading = open_file(path_, UINT64_MAX);
    char last = '\n';
    if (!reading.ok() || !read_at(reading.value().fd(), bytes_ - 1, &last, 1).ok()) last = '\n';
    if (last != '\n' && write(file_.fd(), "\n", 1) == 1) ++bytes_;
  }

  // False where something is left of a line.
  bool finish_rest() {
    const uint64_t whole_lines = bytes_;
    while (!rest_.empty()) {
      const ssize_t written = write(file_.fd(), rest_.data(), rest_.size());
      if (written > 0) {
        rest_.erase(0, static_cast<size_t>(written));
        bytes_ += static_cast<uint64_t>(written);
        continue;
      }
      if (errno == EINTR) continue;
      if (errno == EAGAIN || errno == EWOULDBLOCK) return false;
      const std::string why = "'" + path_ + "' cannot be written: " + std::strerror(errno);
      if (regular_ && ftruncate(file_.fd(), static_cast<off_t>(whole_lines)) == 0)
        bytes_ = whole_lines;
      close();
      listener_->lost(why);
      return false;
    }
    if (rest_token_ != 0) listener_->acknowledged(std::exchange(rest_token_, 0));
    return true;
  }

  bool wants_rotation() const {
    if (!regular_ || bytes_ == 0) return false;
    if (rotate_bytes_ > 0 && bytes_ >= rotate_bytes_) return true;
    return rotate_seconds_ > 0 &&
           std::chrono::steady_clock::now() - opened_ >= std::chrono::seconds(rotate_seconds_);
  }

  // Renames PATH to PATH.1, PATH.1 to PATH.2 and so on; the file PATH.keep is replaced.
  bool rotate() {
    const auto numbered = [this](int i) { return path_ + format(".%d", i); };
    int there = 0;  // counts existing files only, so that a large `keep` costs nothing
    while (there + 1 < keep_ && access(numbered(there + 1).c_str(), F_OK) == 0) ++there;
    for (int i = there; i >= 1; --i) {
      std::rename(numbered(i).c_str(), numbered(i + 1).c_str());
    }
    if (std::rename(path_.c_str(), (path_ + ".1").c_str()) != 0) {
      // A file that is too large is better than none.
      opened_ = std::chrono::steady_clock::now();
      return true;
    }
    auto next = open_for_lines(path_);
    if (!next.ok()) {
      close();
      listener_->lost(next.error().message);
      return false;
    }
    file_ = std::move(next.value());
    bytes_ = 0;
    opened_ = std::chrono::steady_clock::now();
    return true;
  }

  const std::string path_;
  const uint64_t rotate_bytes_;
  const int64_t rotate_seconds_;
  const int keep_;
  Listener* const listener_;
  File file_;
  bool regular_ = false;
  uint64_t bytes_ = 0;
  std::chrono::steady_clock::time_point opened_;
  std::string rest_;  // of a line that a pipe had no room for
  uint64_t rest_token_ = 0;
};

}  // namespace

TransportResult create_file_transport(const TransportRequest& request) {
  OptionReader in(request.options, "file");
  constexpr int64_t kMostBytes = int64_t{1} << 50, kMostSeconds = int64_t{366} * 24 * 3600;
  constexpr int kMostFiles = 9999, kUsualFiles = 10;
  const int64_t bytes = in.integer("rotate-bytes", 0, kMostBytes, 0);
  const int64_t seconds = in.integer("rotate-seconds", 0, kMostSeconds, 0);
  const int64_t keep = in.integer("keep", 1, kMostFiles, kUsualFiles);
  DVNN_TRY(in.status());
  // A missing file is waited for, as a broker is; a folder never becomes a file.
  struct stat facts {};
  if (stat(request.address.path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode)) {
    return invalid_argument("'" + request.address.path + "' is a folder");
  }
  return {std::make_unique<FileTransport>(request, static_cast<uint64_t>(bytes), seconds,
                                          static_cast<int>(keep))};
}

}  // namespace dvnn::publish
