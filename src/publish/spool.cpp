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
#include <cstring>
#include <vector>

#include "base/format.h"
#include "base/log.h"
#include "publish/spool_segment.h"

namespace dvnn::publish {
namespace {

constexpr const char *kPlace = "place", *kNewPlace = "place.new", *kLock = "lock";
constexpr uint64_t kLargestSegment = uint64_t{8} << 20, kSmallestSegment = 4096;
constexpr uint64_t kParts = 16;  // segments that a full spool has at least
constexpr uint64_t kAcknowledgedAtOnce =
    256;  // at most this many messages come twice after a crash
constexpr mode_t kFolderMode = 0750;

unsigned long long number(uint64_t value) {
  return value;
}

Error failed(const std::string& what) {
  const int code = errno;
  return {code == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo,
          what + ": " + std::strerror(code)};
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

// Another user who can write to the folder, or replace it, could have us read and write anything.
Status check_folder(const std::string& path, const File& folder, bool parent) {
  struct stat facts {};
  if (fstat(folder.fd(), &facts) != 0) return failed("the spool's folder '" + path + "'");
  if (facts.st_uid != geteuid() && !(parent && facts.st_uid == 0)) {
    return invalid_argument(
        format("the spool's folder '%s' belongs to user %u, it must be of user %u", path.c_str(),
               facts.st_uid, geteuid()));
  }
  const mode_t others = parent ? S_IWOTH : S_IWGRP | S_IWOTH;
  const bool only_own = parent && (facts.st_mode & S_ISVTX);  // as /tmp
  if (!(facts.st_mode & others) || only_own) return {};
  return invalid_argument(
      format("the spool's folder '%s' has mode %03o: others must not write to it (chmod go-w)",
             path.c_str(), facts.st_mode & 0777));
}

std::string text_of_place(uint64_t acknowledged, uint64_t last, uint64_t waiting) {
  const std::string text =
      format("%llu %llu %llu", number(acknowledged), number(last), number(waiting));
  return text + format(" %08x\n", record_checksum(text.data(), text.size()));
}

}  // namespace

Spool::Spool(std::string folder, const Bounds& bounds) : path_(std::move(folder)), bounds_(bounds) {
  if (bounds_.segment_bytes == 0) {
    bounds_.segment_bytes =
        std::clamp(bounds_.most_bytes / kParts, kSmallestSegment, kLargestSegment);
  }
}

Spool::~Spool() {
  if (lock_) remember_place();
}

Result<std::unique_ptr<Spool>> Spool::open(const std::string& folder, const Bounds& bounds) {
  std::unique_ptr<Spool> spool(new Spool(folder, bounds));
  DVNN_TRY(spool->open_folders());
  DVNN_TRY(spool->lock());
  DVNN_TRY(spool->scan());
  DVNN_LOG(kSpool, kInfo, "'%s' holds %llu messages; %llu were lost before", folder.c_str(),
           number(spool->messages()), number(spool->dropped_));
  return spool;
}

Status Spool::open_folders() {
  DVNN_TRY(make_folders(path_));
  const std::string above = path_ + "/..";
  DVNN_ASSIGN(folder_, open_folder(path_));
  DVNN_TRY(check_folder(path_, folder_, false));
  DVNN_ASSIGN(const File parent, open_folder(above));
  return check_folder(above, parent, true);
}

Status Spool::lock() {
  const std::string path = path_ + "/" + kLock;
  lock_ = open_own(folder_, kLock, O_RDWR | O_CREAT);
  if (!lock_) return failed("'" + path + "' cannot be opened as a file of this user's");
  if (flock(lock_.fd(), LOCK_EX | LOCK_NB) == 0) return {};
  const int code = errno;
  lock_ = File();
  if (code != EWOULDBLOCK) return failed("'" + path + "' cannot be locked");
  return invalid_argument(
      "the spool '" + path_ +
      "' is in use: each dvpublish needs a folder, or a stream's name, of its own");
}

// Renames an entry that has a name of ours but is no file of ours. Returns false if it is still
// there.
bool Spool::set_aside(const std::string& name) {
  return renameat(folder_.fd(), name.c_str(), folder_.fd(), (name + ".bad").c_str()) == 0;
}

std::optional<Spool::Remembered> Spool::read_place() {
  for (const char* name : {kPlace, kNewPlace}) {
    if (!open_own(folder_, name, O_RDONLY) && errno != ENOENT) set_aside(name);
  }
  const File file = open_own(folder_, kPlace, O_RDONLY);
  char text[128] = {};
  unsigned long long acknowledged = 0, last = 0, waiting = 0;
  if (!file || ::read(file.fd(), text, sizeof(text) - 1) <= 0 ||
      std::sscanf(text, "%llu %llu %llu", &acknowledged, &last, &waiting) != 3 ||
      text_of_place(acknowledged, last, waiting) != text) {
    return std::nullopt;
  }
  const bool possible =
      acknowledged <= last && waiting <= last - acknowledged && last <= kMostNumber;
  return possible ? std::optional<Remembered>({acknowledged, last, waiting}) : std::nullopt;
}

// Finds the messages that an earlier process has left. Nothing in the segments is changed.
Status Spool::scan() {
  const int copy = dup(folder_.fd());
  DIR* folder = copy >= 0 ? fdopendir(copy) : nullptr;
  if (!folder) return failed("the spool's folder '" + path_ + "' cannot be read");
  std::vector<uint64_t> names;
  while (const dirent* entry = readdir(folder)) {
    if (const uint64_t first = number_in_name(entry->d_name)) names.push_back(first);
  }
  closedir(folder);
  std::sort(names.begin(), names.end());
  const auto scan_all = [&](const Remembered& remembered) -> Status {
    segments_.clear();
    acknowledged_ = {remembered.acknowledged, 0, 0};
    last_ = bytes_ = unread_ = 0;
    for (const uint64_t first : names) DVNN_TRY(scan_segment(first, remembered));
    return {};
  };
  auto place = read_place();
  DVNN_TRY(scan_all(place.value_or(Remembered())));
  // The last acknowledged message cannot be newer than the last one on disk.
  if (place && !segments_.empty() && place->acknowledged > last_) {
    place.reset();
    DVNN_TRY(scan_all({}));
  }
  const uint64_t before = segments_.empty() ? 0 : segments_.front().first - 1;
  const Remembered remembered = place.value_or(Remembered{before, before, 0});
  if (!place) acknowledged_.number = before;
  last_ = std::max(last_, remembered.last);
  const uint64_t expected = remembered.waiting + (last_ - remembered.last);
  dropped_ += expected - std::min(expected, unread_);
  while (!segments_.empty() && segments_.front().acknowledged == segments_.front().records) {
    remove_oldest();
  }
  rewind();
  remember_place();
  return {};
}

Status Spool::scan_segment(uint64_t first, const Remembered& remembered) {
  const std::string name = segment_name(first);
  const File file = open_own(folder_, name, O_RDONLY);
  if (!file) {
    if (errno == ENOENT) return {};  // it was set aside before
    const Error error = failed("'" + path_ + "/" + name + "' cannot be opened");
    return set_aside(name) ? Status() : error;
  }
  Segment segment;
  segment.first = first;
  segment.bytes = size_of(file);
  SegmentReader reader(file.fd(), first, segment.bytes, &buffer_);
  // Messages leave in their order: none of a segment has, if one of those before has not. Where
  // somebody's copy has numbers twice, they come twice.
  const bool may_have_left =
      segments_.empty() || segments_.back().acknowledged == segments_.back().records;
  uint64_t last = first - 1;
  while (const auto record = reader.next()) {
    last = record->number;
    if (!record->message) continue;
    ++segment.records;
    if (!may_have_left || record->number > remembered.acknowledged) continue;
    ++segment.acknowledged;
    acknowledged_ = {record->number, first, record->end};
  }
  // Bytes behind the last record are of one that was torn.
  if (reader.end() < segment.bytes) ++last;
  if (segment.records == 0) {
    // Where it says nothing, its name is believed as far as it fits the others.
    if (segment.bytes > 0 && first <= std::max(last_, remembered.last) + 1) {
      last_ = std::max(last_, last);
    }
    const bool gone =
        segment.bytes == 0 ? unlinkat(folder_.fd(), name.c_str(), 0) == 0 : set_aside(name);
    if (gone) return {};
    return failed("'" + path_ + "/" + name + "' cannot be renamed");
  }
  last_ = std::max(last_, last);
  segment.read = segment.acknowledged;
  bytes_ += segment.bytes;
  unread_ += segment.records - segment.read;
  segments_.push_back(segment);
  return {};
}

// --- writing ------------------------------------------------------------------------------------

Status Spool::start_segment() {
  Segment segment;
  segment.first = last_ + 1;
  const std::string name = segment_name(segment.first);
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_APPEND;
  writing_ = open_own(folder_, name, kFlags);
  if (!writing_ && errno == EEXIST && set_aside(name)) writing_ = open_own(folder_, name, kFlags);
  if (!writing_) return failed("'" + path_ + "/" + name + "' cannot be written");
  segments_.push_back(segment);
  return {};
}

Status Spool::append(const Message& message) {
  if (last_ >= kMostNumber) {
    return too_large("the spool '" + path_ + "' has no numbers left: empty it");
  }
  buffer_.clear();
  append_record(message, last_ + 1, &buffer_);
  if (buffer_.size() > std::min<uint64_t>(bounds_.most_bytes / 2, kMostRecordBytes)) {
    return too_large(format("a message of %zu bytes is too large for a spool of %llu",
                            buffer_.size(), number(bounds_.most_bytes)));
  }
  make_room(buffer_.size());
  const bool full = !writing_ || segments_.empty() ||
                    segments_.back().bytes + buffer_.size() > bounds_.segment_bytes;
  if (full) DVNN_TRY(start_segment());
  Segment& segment = segments_.back();
  const Status written = write_all(writing_.fd(), buffer_.data(), buffer_.size());
  if (!written.ok()) {
    // Half a record must not stand before the next. If it cannot be cut off, what follows goes
    // elsewhere.
    if (ftruncate(writing_.fd(), static_cast<off_t>(segment.bytes)) != 0) writing_ = File();
    if (segment.records == 0) {
      writing_ = File();
      unlinkat(folder_.fd(), segment_name(segment.first).c_str(), 0);
      segments_.pop_back();
    }
    return written.error().within("the spool '" + path_ + "'");
  }
  ++last_;
  segment.bytes += buffer_.size();
  ++segment.records;
  bytes_ += buffer_.size();
  ++unread_;
  return {};
}

Status Spool::sync() {
  if (writing_ && fdatasync(writing_.fd()) != 0) {
    return failed("the spool '" + path_ + "' cannot be written");
  }
  remember_place();
  return {};
}

void Spool::make_room(uint64_t bytes) {
  while (!segments_.empty() && bytes_ + bytes > bounds_.most_bytes) drop_oldest();
}

// Messages that were read from the segment may still be delivered; otherwise rewind() counts them.
void Spool::drop_oldest() {
  const Segment& oldest = segments_.front();
  const uint64_t unread = oldest.records - oldest.read;
  DVNN_LOG(kSpool, kDebug, "'%s' is full: its oldest segment goes, with %llu messages",
           path_.c_str(), number(unread));
  dropped_ += unread;
  unread_ -= unread;
  remove_oldest();
}

void Spool::remove_oldest() {
  const Segment oldest = segments_.front();
  segments_.pop_front();
  if (segments_.empty()) writing_ = File();
  if (reading_segment_ == oldest.first) close_reading();
  bytes_ -= oldest.bytes;
  const uint64_t last = segments_.empty() ? last_ : segments_.front().first - 1;
  if (acknowledged_.segment <= oldest.first) acknowledged_ = {last, oldest.first, oldest.bytes};
  if (next_.segment <= oldest.first) next_ = acknowledged_;
  // The place first: without the segment it would tell of messages that are lost.
  remember_place();
  unlinkat(folder_.fd(), segment_name(oldest.first).c_str(), 0);
}

// --- reading ------------------------------------------------------------------------------------

bool Spool::open_for_reading(uint64_t first) {
  if (reading_ && reading_segment_ == first) return true;
  reading_ = open_own(folder_, segment_name(first), O_RDONLY);
  reading_segment_ = first;
  return static_cast<bool>(reading_);
}

void Spool::close_reading() {
  reading_ = File();
  reading_segment_ = 0;
}

// Counts the rest of a segment as lost, because no further record is found in it.
void Spool::skip_damage(Segment* segment) {
  const uint64_t lost = segment->records - segment->read;
  DVNN_LOG(kSpool, kWarning, "'%s': segment %llu is damaged, %llu messages are lost", path_.c_str(),
           number(segment->first), number(lost));
  dropped_ += lost;
  unread_ -= lost;
  segment->records = segment->read;
}

std::optional<Spool::Entry> Spool::read() {
  for (Segment& segment : segments_) {
    if (segment.first < next_.segment || segment.read == segment.records) continue;
    if (segment.first > next_.segment) next_ = {segment.first - 1, segment.first, 0};
    if (open_for_reading(segment.first)) {
      SegmentReader reader(reading_.fd(), segment.first, segment.bytes, &buffer_);
      reader.go_on_after(next_.number, next_.end);
      while (auto record = reader.next()) {
        next_ = {record->number, segment.first, record->end};
        if (!record->message)
          continue;  // counted when the segment's end shows how many are missing
        ++segment.read;
        --unread_;
        ++unacknowledged_;
        return Entry{std::move(*record->message), next_};
      }
    }
    skip_damage(&segment);
  }
  return std::nullopt;
}

void Spool::acknowledge(const Place& place) {
  if (unacknowledged_ > 0) --unacknowledged_;
  if (segments_.empty() || place.segment < segments_.front().first) return;
  acknowledged_ = place;
  for (Segment& segment : segments_) {
    if (segment.first == place.segment) ++segment.acknowledged;
  }
  while (!segments_.empty() && segments_.front().acknowledged == segments_.front().records &&
         segments_.front().first <= place.segment) {
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
  // The remaining ones belonged to segments that are gone.
  dropped_ += std::exchange(unacknowledged_, 0);
  next_ = acknowledged_;
}

void Spool::remember_place() {
  acknowledged_since_ = 0;
  uint64_t waiting = 0;
  for (const Segment& segment : segments_) waiting += segment.records - segment.acknowledged;
  const std::string text = text_of_place(acknowledged_.number, last_, waiting);
  // Without it, some messages come twice.
  unlinkat(folder_.fd(), kNewPlace, 0);
  File file = open_own(folder_, kNewPlace, O_WRONLY | O_CREAT | O_EXCL);
  const bool good = file && write_all(file.fd(), text.data(), text.size()).ok() && file.close();
  if (good) renameat(folder_.fd(), kNewPlace, folder_.fd(), kPlace);
}

}  // namespace dvnn::publish
