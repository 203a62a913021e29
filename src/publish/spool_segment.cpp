// SPDX-License-Identifier: Apache-2.0
#include "publish/spool_segment.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/file.h"
#include "base/format.h"

namespace dvnn::publish {
namespace {

constexpr const char* kSuffix = ".spool";
constexpr size_t kDigits = 16;
// A segment is no larger than this, unless it is not ours: it has 8 MiB, or one record.
constexpr uint64_t kMostBytes = (uint64_t{8} << 20) + kMostRecordBytes + kRecordHead;

}  // namespace

std::string segment_name(uint64_t first) {
  return format("%0*llu", static_cast<int>(kDigits), static_cast<unsigned long long>(first)) +
         kSuffix;
}

uint64_t number_in_name(const std::string& name) {
  if (name.size() != kDigits + std::strlen(kSuffix) ||
      name.compare(kDigits, std::string::npos, kSuffix) != 0 ||
      name.find_first_not_of("0123456789") != kDigits) {
    return 0;
  }
  const uint64_t number = std::strtoull(name.c_str(), nullptr, 10);
  return number <= kMostNumber ? number : 0;
}

SegmentReader::SegmentReader(int file, uint64_t first, uint64_t bytes, std::string* buffer)
    : file_(file),
      bytes_(std::min(bytes, kMostBytes)),
      least_number_(first),
      most_number_(std::min(first + bytes_ / (kRecordHead + kLeastBody), kMostNumber)),
      buffer_(buffer) {}

void SegmentReader::go_on_after(uint64_t number, uint64_t end) {
  least_number_ = number + 1;
  end_ = end;
}

bool SegmentReader::read(uint64_t at, size_t size) {
  if (at > bytes_ || size > bytes_ - at) return false;
  buffer_->resize(size);
  return read_at(file_, at, buffer_->data(), size).ok();
}

std::optional<RecordHead> SegmentReader::fitting_head(Span<const char> bytes) const {
  const auto head = read_head(bytes);
  const bool fits = head && head->number >= least_number_ && head->number <= most_number_;
  return fits ? head : std::nullopt;
}

// From `at` on, which becomes its place. Each block is read once, however many marks it has that
// begin no head.
std::optional<RecordHead> SegmentReader::find_head(uint64_t* at) {
  constexpr uint64_t kBlock = 65536;
  const std::string mark(kRecordMark, sizeof(kRecordMark));
  for (; *at < bytes_; *at += kBlock) {
    // The blocks overlap, so that no head lies across two of them.
    if (!read(*at, static_cast<size_t>(std::min(kBlock + kRecordHead - 1, bytes_ - *at)))) break;
    for (size_t found = buffer_->find(mark); found < kBlock;
         found = buffer_->find(mark, found + 1)) {
      if (const auto head = fitting_head({buffer_->data() + found, buffer_->size() - found})) {
        *at += found;
        return head;
      }
    }
  }
  return std::nullopt;
}

std::optional<SegmentReader::Record> SegmentReader::next() {
  uint64_t at = end_;
  std::optional<RecordHead> head;
  if (read(at, kRecordHead)) head = fitting_head({buffer_->data(), buffer_->size()});
  if (!head) head = find_head(&at);
  if (!head) return std::nullopt;
  Record record;
  record.number = head->number;
  record.end = std::min(at + kRecordHead + head->body_bytes, bytes_);
  if (read(at + kRecordHead, head->body_bytes)) {
    record.message = read_body(*head, {buffer_->data(), buffer_->size()});
  }
  least_number_ = record.number + 1;
  end_ = record.end;
  return record;
}

}  // namespace dvnn::publish
