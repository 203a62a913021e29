// SPDX-License-Identifier: Apache-2.0
#include "tools/get/download.h"

#include <curl/curl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/format.h"
#include "tools/progress.h"

namespace dvnn::tools {
namespace {

constexpr long kMostRedirects = 5, kConnectSeconds = 30, kLeastBytesPerSecond = 1024;
constexpr long kWhole = 200, kPart = 206;  // answers with a whole file, and with a part
constexpr uint64_t kBlock = 65536;         // bytes between two steps of the progress

struct EndCurl {
  void operator()(CURL* curl) const { curl_easy_cleanup(curl); }
};

// One request. Appends what the server sends to a file.
class Download {
 public:
  Download(const std::string& url, uint64_t bytes, int stall_seconds, const File& to)
      : url_(url),
        bytes_(bytes),
        to_(to),
        curl_(curl_easy_init()),
        progress_("fetching blocks of 64 KiB", static_cast<size_t>(bytes / kBlock + 1)) {
    if (curl_) set_up(stall_seconds);
  }

  // Runs the request. `resumable` is cleared if the server cannot go on where the file ends.
  Status run(bool* resumable) {
    if (!curl_) return Error{ErrorCode::kNoMemory, "there is no memory for a download"};
    begin_ = size_ = size_of(to_);
    curl_easy_setopt(curl_.get(), CURLOPT_RESUME_FROM_LARGE, static_cast<curl_off_t>(begin_));
    const CURLcode code = curl_easy_perform(curl_.get());
    *resumable = begin_ == 0 || (code != CURLE_RANGE_ERROR && status() != kRangeRefused &&
                                 !(code == CURLE_OK && status() == kWhole));
    if (!failed_.empty()) return failure(ErrorCode::kIo, failed_);
    if (too_large_ || code == CURLE_FILESIZE_EXCEEDED) {
      return failure(ErrorCode::kLimit, format("has more than the %llu bytes that the list says",
                                               static_cast<unsigned long long>(bytes_)));
    }
    if (code == CURLE_HTTP_RETURNED_ERROR || (code == CURLE_OK && status() != wanted_status())) {
      return failure(ErrorCode::kIo, format("answers %ld", status()));
    }
    if (code != CURLE_OK && code != CURLE_PARTIAL_FILE) {
      return failure(ErrorCode::kIo, *why_ ? why_ : curl_easy_strerror(code));
    }
    if (size_ == bytes_) return {};
    return failure(ErrorCode::kIo,
                   format("ended after %llu of %llu bytes", static_cast<unsigned long long>(size_),
                          static_cast<unsigned long long>(bytes_)));
  }

 private:
  static constexpr long kRangeRefused = 416;

  void set_up(int stall_seconds) {
    CURL* curl = curl_.get();
    const bool secure = starts_with(url_, "https://");
    curl_easy_setopt(curl, CURLOPT_URL, url_.c_str());
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, secure ? "https" : "http,https");
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
    curl_easy_setopt(curl, CURLOPT_MAXREDIRS, kMostRedirects);
    curl_easy_setopt(curl, CURLOPT_FAILONERROR, 1L);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "dvnet/" DVNN_VERSION);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, std::min<long>(kConnectSeconds, stall_seconds));
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, kLeastBytesPerSecond);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, static_cast<long>(stall_seconds));
    curl_easy_setopt(curl, CURLOPT_MAXFILESIZE_LARGE, static_cast<curl_off_t>(bytes_));
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, why_);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, this);
  }

  long status() const {
    long status = 0;
    curl_easy_getinfo(curl_.get(), CURLINFO_RESPONSE_CODE, &status);
    return status;
  }

  long wanted_status() const { return begin_ == 0 ? kWhole : kPart; }

  Error failure(ErrorCode code, const std::string& why) const {
    return {code, "'" + url_ + "': " + printable(why)};
  }

  // Appends a part of the answer, which is only the file's if the status says so.
  static size_t take(char* bytes, size_t size, size_t count, void* data) {
    auto* self = static_cast<Download*>(data);
    const size_t all = size * count;
    if (self->status() != self->wanted_status()) return all;
    self->too_large_ = all > self->bytes_ - self->size_;
    if (self->too_large_) return 0;
    const Status written = write_all(self->to_.fd(), bytes, all);
    if (!written.ok()) {
      self->failed_ = written.error().message;
      return 0;
    }
    const uint64_t had = self->size_;
    self->size_ += all;
    for (uint64_t block = had / kBlock; block < self->size_ / kBlock; ++block) {
      self->progress_.advance();
    }
    return all;
  }

  const std::string& url_;
  const uint64_t bytes_;
  const File& to_;
  std::unique_ptr<CURL, EndCurl> curl_;
  Progress progress_;
  uint64_t begin_ = 0, size_ = 0;  // of the file, before the request and now
  bool too_large_ = false;
  std::string failed_;  // why the file cannot be written
  char why_[CURL_ERROR_SIZE] = "";
};

// Lets a file begin anew, or go on at its end.
Status set_end(const File& file, bool begin) {
  if ((begin && ftruncate(file.fd(), 0) != 0) || lseek(file.fd(), 0, SEEK_END) < 0) {
    return Error{ErrorCode::kIo, std::string("cannot be written: ") + std::strerror(errno)};
  }
  return {};
}

}  // namespace

Status download(const std::string& url, uint64_t bytes, int stall_seconds, const File& to) {
  static const CURLcode once = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (once != CURLE_OK) return Error{ErrorCode::kInternal, curl_easy_strerror(once)};
  DVNN_TRY(set_end(to, size_of(to) > bytes));
  if (size_of(to) == bytes) return {};
  bool resumable = true;
  Status status = Download(url, bytes, stall_seconds, to).run(&resumable);
  if (status.ok() || resumable) return status;
  DVNN_TRY(set_end(to, true));
  return Download(url, bytes, stall_seconds, to).run(&resumable);
}

}  // namespace dvnn::tools
