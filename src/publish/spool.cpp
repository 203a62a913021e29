// SPDX-License-Identifier: Apache-2.0
#include "publish/spool.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/format.h"
#include "publish/spool_record.h"

namespace dvnn::publish {
namespace {

constexpr const char* kSuffix = ".spool";
constexpr size_t kDigits = 16;
constexpr uint64_t kLargestSegment = uint64_t{8} << 20, kSmallestSegment = 4096;
constexpr uint64_t kParts = 16;                // segments that a full spool has at least
constexpr uint64_t kAcknowledgedAtOnce = 256;  // so many may come twice after a crash
constexpr mode_t kFileMode = 0640, kFolderMode = 0750;

Error failed(const std::string& what) {
  const int code = errno;
  return {code == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo,
          what + ": " + std::strerror(code)};
}

void close_file(int* file) {
  if (*file >= 0) close(*file);
  *file = -1;
}

Status make_folders(const std::string& path) {
  for (size_t at = path.find('/', 1);; at = path.find('/', at + 1)) {
    const std::string part = path.substr(0, at);
    if (mkdir(part.c_str(), kFolderMode) != 0 && errno != EEXIST) {
      return failed("the spool's folder '" + part + "' cannot be made");
    }
    if (at == std::string::npos) return {};
  }
}

bool write_all(int file, const char* bytes, size_t size) {
  while (size > 0) {
    const ssize_t written = write(file, bytes, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes += written;
    size -= static_cast<size_t>(written);
  }
  return true;
}

// False where the file has fewer bytes.
bool read_all(int file, uint64_t at, char* bytes, size_t size) {
  while (size > 0) {
    const ssize_t got = pread(file, bytes, size, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    bytes += got;
    at += static_cast<uint64_t>(got);
    size -= static_cast<size_t>(got);
  }
  return true;
}

// The message at `at`, and where it ends.
std::optional<Message> message_at(int file, uint64_t at, std::string* buffer, uint64_t* end) {
  char head[kRecordHead];
  if (!read_all(file, at, head, sizeof(head))) return std::nullopt;
  const auto size = record_body_size({head, sizeof(head)});
  struct stat facts {};
  // A head may promise more than there is: memory is for what the file has.
  if (!size || fstat(file, &facts) != 0 ||
      at + kRecordHead + *size > static_cast<uint64_t>(facts.st_size)) {
    return std::nullopt;
  }
  buffer->resize(*size);
  if (!read_all(file, at + kRecordHead, buffer->data(), *size)) return std::nullopt;
  *end = at + kRecordHead + *size;
  return read_record({head, sizeof(head)}, {buffer->data(), buffer->size()});
}

// The number in a segment's file name; 0: it is another file.
uint64_t number_of(const std::string& name) {
  if (name.size() != kDigits + std::strlen(kSuffix) ||
      name.compare(kDigits, std::string::npos, kSuffix) != 0 ||
      name.find_first_not_of("0123456789") != kDigits) {
    return 0;
  }
  return std::strtoull(name.c_str(), nullptr, 10);
}

}  // namespace

Spool::Spool(std::string folder, const Bounds& bounds)
    : folder_(std::move(folder)), bounds_(bounds) {
  if (bounds_.segment_bytes == 0) {
    bounds_.segment_bytes =
        std::clamp(bounds_.most_bytes / kParts, kSmallestSegment, kLargestSegment);
  }
}

Spool::~Spool() {
  if (lock_ >= 0) remember_place();
  close_file(&writing_);
  close_reading();
  close_file(&lock_);
}

Result<std::unique_ptr<Spool>> Spool::open(const std::string& folder, const Bounds& bounds) {
  DVNN_TRY(make_folders(folder));
  std::unique_ptr<Spool> spool(new Spool(folder, bounds));
  DVNN_TRY(spool->lock());
  DVNN_TRY(spool->scan());
  return spool;
}

Status Spool::lock() {
  const std::string path = folder_ + "/lock";
  lock_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kFileMode);
  if (lock_ < 0) return failed("'" + path + "' cannot be opened");
  if (flock(lock_, LOCK_EX | LOCK_NB) == 0) return {};
  const int code = errno;
  close_file(&lock_);
  if (code != EWOULDBLOCK) return failed("'" + path + "' cannot be locked");
  return Error{ErrorCode::kInvalidArgument,
               "the spool '" + folder_ +
                   "' is in use: each dvpublish needs a folder, or a stream's name, of its own"};
}

// Finds the messages that an earlier process has left. A torn end is cut off.
Status Spool::scan() {
  if (std::FILE* file = std::fopen((folder_ + "/place").c_str(), "r")) {
    unsigned long long segment = 0, end = 0;
    if (std::fscanf(file, "%llu %llu", &segment, &end) == 2) acknowledged_ = {segment, end};
    std::fclose(file);
  }
  DIR* folder = opendir(folder_.c_str());
  if (!folder) return failed("the spool's folder '" + folder_ + "' cannot be read");
  while (const dirent* entry = readdir(folder)) {
    Segment segment;
    segment.number = number_of(entry->d_name);
    if (segment.number > 0) segments_.push_back(segment);
  }
  closedir(folder);
  std::sort(segments_.begin(), segments_.end(),
            [](const Segment& a, const Segment& b) { return a.number < b.number; });
  for (Segment& segment : segments_) {
    const std::string path = path_of(segment.number);
    const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (file < 0) return failed("'" + path + "' cannot be opened");
    const bool partly = segment.number == acknowledged_.segment;
    uint64_t end = 0, delivered_end = 0;
    while (message_at(file, segment.bytes, &buffer_, &end)) {
      segment.bytes = end;
      ++segment.records;
      const bool delivered =
          segment.number < acknowledged_.segment || (partly && end <= acknowledged_.end);
      if (delivered) ++segment.acknowledged, delivered_end = end;
    }
    // A recorded place is believed only where a message ends.
    if (partly) acknowledged_.end = delivered_end;
    struct stat facts {};
    if (fstat(file, &facts) == 0 && static_cast<uint64_t>(facts.st_size) > segment.bytes) {
      ++dropped_;
      if (ftruncate(file, static_cast<off_t>(segment.bytes)) != 0) {
        const Error error = failed("'" + path + "' cannot be cut");
        close(file);
        return error;
      }
    }
    close(file);
    segment.read = segment.acknowledged;
    bytes_ += segment.bytes;
    unread_ += segment.records - segment.read;
  }
  while (!segments_.empty() && segments_.front().acknowledged == segments_.front().records) {
    remove_oldest();
  }
  rewind();
  return {};
}

std::string Spool::path_of(uint64_t number) const {
  return folder_ +
         format("/%0*llu", static_cast<int>(kDigits), static_cast<unsigned long long>(number)) +
         kSuffix;
}

// --- writing
// ---------------------------------------------------------------------------------------

Status Spool::start_segment() {
  close_file(&writing_);
  Segment segment;
  segment.number = std::max(acknowledged_.segment, next_.segment) + 1;
  if (!segments_.empty()) segment.number = segments_.back().number + 1;
  const std::string path = path_of(segment.number);
  writing_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, kFileMode);
  if (writing_ < 0) return failed("'" + path + "' cannot be written");
  segments_.push_back(segment);
  return {};
}

Status Spool::append(const Message& message) {
  std::string record;
  append_record(message, &record);
  if (record.size() > std::min<uint64_t>(bounds_.most_bytes / 2, kMostRecordBytes)) {
    return Error{ErrorCode::kLimit,
                 format("a message of %zu bytes is too large for a spool of %llu", record.size(),
                        static_cast<unsigned long long>(bounds_.most_bytes))};
  }
  make_room(record.size());
  const bool full = writing_ < 0 || segments_.empty() ||
                    segments_.back().bytes + record.size() > bounds_.segment_bytes;
  if (full) DVNN_TRY(start_segment());
  Segment& segment = segments_.back();
  if (!write_all(writing_, record.data(), record.size())) {
    const Error error = failed("the spool '" + folder_ + "' cannot be written");
    // Half a record must not stand before the next. If it cannot be cut off, what follows goes
    // elsewhere.
    if (ftruncate(writing_, static_cast<off_t>(segment.bytes)) != 0) close_file(&writing_);
    return error;
  }
  segment.bytes += record.size();
  ++segment.records;
  bytes_ += record.size();
  ++unread_;
  return {};
}

Status Spool::sync() {
  if (writing_ >= 0 && fdatasync(writing_) != 0) {
    return failed("the spool '" + folder_ + "' cannot be written");
  }
  return {};
}

void Spool::make_room(uint64_t bytes) {
  while (!segments_.empty() && bytes_ + bytes > bounds_.most_bytes) drop_oldest();
}

// Messages that were read from the segment may still be delivered; otherwise rewind() counts them.
void Spool::drop_oldest() {
  const Segment& oldest = segments_.front();
  const uint64_t unread = oldest.records - oldest.read;
  dropped_ += unread;
  unread_ -= unread;
  remove_oldest();
}

void Spool::remove_oldest() {
  const Segment oldest = segments_.front();
  segments_.pop_front();
  if (segments_.empty()) close_file(&writing_);
  if (reading_segment_ == oldest.number) close_reading();
  bytes_ -= oldest.bytes;
  // This keeps a later segment from getting the same number.
  if (acknowledged_.segment <= oldest.number) acknowledged_ = {oldest.number, oldest.bytes};
  if (next_.segment <= oldest.number) {
    next_ = segments_.empty() ? acknowledged_ : Place{segments_.front().number, 0};
  }
  // The place first: a number that is forgotten would be given again.
  remember_place();
  unlink(path_of(oldest.number).c_str());
}

// --- reading
// ---------------------------------------------------------------------------------------

bool Spool::open_for_reading(uint64_t number) {
  if (reading_ >= 0 && reading_segment_ == number) return true;
  close_reading();
  reading_ = ::open(path_of(number).c_str(), O_RDONLY | O_CLOEXEC);
  reading_segment_ = number;
  return reading_ >= 0;
}

void Spool::close_reading() {
  close_file(&reading_);
  reading_segment_ = 0;
}

// The rest of a segment that cannot be read is lost.
void Spool::skip_damage(Segment* segment) {
  const uint64_t lost = segment->records - segment->read;
  dropped_ += lost;
  unread_ -= lost;
  segment->records = segment->read;
}

std::optional<Spool::Entry> Spool::read() {
  for (Segment& segment : segments_) {
    if (segment.number < next_.segment || segment.read == segment.records) continue;
    if (segment.number > next_.segment) next_ = {segment.number, 0};
    uint64_t end = 0;
    std::optional<Message> message;
    if (open_for_reading(segment.number)) {
      message = message_at(reading_, next_.end, &buffer_, &end);
    }
    if (!message) {
      skip_damage(&segment);
      continue;
    }
    next_ = {segment.number, end};
    ++segment.read;
    --unread_;
    ++unacknowledged_;
    return Entry{std::move(*message), next_};
  }
  return std::nullopt;
}

void Spool::acknowledge(const Place& place) {
  if (unacknowledged_ > 0) --unacknowledged_;
  if (segments_.empty() || place.segment < segments_.front().number) return;
  acknowledged_ = place;
  for (Segment& segment : segments_) {
    if (segment.number == place.segment) ++segment.acknowledged;
  }
  while (!segments_.empty() && segments_.front().acknowledged == segments_.front().records &&
         segments_.front().number <= place.segment) {
    remove_oldest();
  }
  if (++acknowledged_since_ >= kAcknowledgedAtOnce) remember_place();
}

void Spool::rewind() {
  for (Segment& segment : segments_) {
    const uint64_t again = segment.read - segment.acknowledged;
    segment.read = segment.acknowledged;
    unread_ += again;
    unacknowledged_ -= std::min(unacknowledged_, again);
  }
  // All that is left belonged to segments that are gone.
  dropped_ += std::exchange(unacknowledged_, 0);
  next_ = acknowledged_;
  if (!segments_.empty() && segments_.front().number > next_.segment) {
    next_ = {segments_.front().number, 0};
  }
}

void Spool::remember_place() {
  acknowledged_since_ = 0;
  const std::string path = folder_ + "/place", fresh = path + ".new";
  const std::string text =
      format("%llu %llu\n", static_cast<unsigned long long>(acknowledged_.segment),
             static_cast<unsigned long long>(acknowledged_.end));
  int file = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kFileMode);
  if (file < 0) return;  // some messages come twice, then
  const bool good = write_all(file, text.data(), text.size());
  close_file(&file);
  if (good) std::rename(fresh.c_str(), path.c_str());
}

}  // namespace dvnn::publish
