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

#include "base/format.h"
#include "publish/option_reader.h"
#include "publish/transports.h"

namespace dvnn::publish {
namespace {

constexpr mode_t kMode = 0644;
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
    // A pipe that nobody reads yet is as a broker that is away. What has been opened for us is used
    // as it is: it may be a socket, or a file whose place others share.
    const bool opened = path_ == "/dev/stdout" || path_ == "/dev/stderr";
    file_ =
        opened
            ? fcntl(path_ == "/dev/stdout" ? STDOUT_FILENO : STDERR_FILENO, F_DUPFD_CLOEXEC, 3)
            : ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, kMode);
    if (file_ < 0) {
      const int code = errno;
      return listener_->lost("'" + path_ + "' cannot be opened: " +
                             (code == ENXIO ? "nobody reads the pipe" : std::strerror(code)));
    }
    struct stat facts {};
    regular_ = !opened && fstat(file_, &facts) == 0 && S_ISREG(facts.st_mode);
    bytes_ = regular_ ? static_cast<uint64_t>(facts.st_size) : 0;
    opened_ = std::chrono::steady_clock::now();
    end_torn_line();
    listener_->ready();
  }

  bool send(uint64_t token, const Message& message) override {
    if (file_ < 0) return false;
    if (!finish_rest()) return false;
    if (wants_rotation() && !rotate()) return false;
    rest_ = message.body + '\n';
    rest_token_ = token;
    const uint64_t before = bytes_;
    const bool whole = finish_rest();
    // A pipe has it, or will have the rest; of a file that has no room, nothing stays.
    if (file_ < 0 && regular_) bytes_ = before;
    return whole || file_ >= 0;
  }

  size_t window() const override { return kFileWindow; }

  void close() override {
    if (file_ >= 0) ::close(file_);
    file_ = -1;
    rest_.clear();
  }

 private:
  // Ends a line that a crash has cut, so that the next message is a line of its own.
  void end_torn_line() {
    if (!regular_ || bytes_ == 0) return;
    const int reading = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    char last = '\n';
    if (reading >= 0) {
      if (pread(reading, &last, 1, static_cast<off_t>(bytes_) - 1) != 1) last = '\n';
      ::close(reading);
    }
    if (last != '\n' && write(file_, "\n", 1) == 1) ++bytes_;
  }

  // False where something is left of a line.
  bool finish_rest() {
    const uint64_t whole_lines = bytes_;
    while (!rest_.empty()) {
      const ssize_t written = write(file_, rest_.data(), rest_.size());
      if (written > 0) {
        rest_.erase(0, static_cast<size_t>(written));
        bytes_ += static_cast<uint64_t>(written);
        continue;
      }
      if (errno == EINTR) continue;
      if (errno == EAGAIN || errno == EWOULDBLOCK) return false;
      const std::string why = "'" + path_ + "' cannot be written: " + std::strerror(errno);
      if (regular_ && ftruncate(file_, static_cast<off_t>(whole_lines)) == 0) bytes_ = whole_lines;
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

  // PATH becomes PATH.1, PATH.1 becomes PATH.2; what was PATH.keep goes.
  bool rotate() {
    for (int i = keep_ - 1; i >= 1; --i) {
      std::rename((path_ + format(".%d", i)).c_str(), (path_ + format(".%d", i + 1)).c_str());
    }
    if (std::rename(path_.c_str(), (path_ + ".1").c_str()) != 0) {
      // Rather a file that is too large than none.
      opened_ = std::chrono::steady_clock::now();
      return true;
    }
    const int next = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, kMode);
    if (next < 0) {
      const std::string why = "'" + path_ + "' cannot be opened: " + std::strerror(errno);
      close();
      listener_->lost(why);
      return false;
    }
    ::close(file_);
    file_ = next;
    bytes_ = 0;
    opened_ = std::chrono::steady_clock::now();
    return true;
  }

  const std::string path_;
  const uint64_t rotate_bytes_;
  const int64_t rotate_seconds_;
  const int keep_;
  Listener* const listener_;
  int file_ = -1;
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
  return {std::make_unique<FileTransport>(request, static_cast<uint64_t>(bytes), seconds,
                                          static_cast<int>(keep))};
}

}  // namespace dvnn::publish
