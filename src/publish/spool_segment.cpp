// SPDX-License-Identifier: Apache-2.0
#include "publish/spool_segment.h"

#include <zlib.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/file.h"
#include "base/format.h"

namespace dvnn::publish {
namespace {

void append_number(uint64_t value, int bytes, std::string* out) {
  for (int i = 0; i < bytes; ++i) {
    out->push_back(static_cast<char>(static_cast<unsigned char>(value >> 8 * i)));
  }
}

uint64_t number_at(const char* bytes, int count) {
  uint64_t value = 0;
  for (int i = count - 1; i >= 0; --i) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

// Takes a text with its size off the front of `body`.
bool take_text(Span<const char>* body, std::string* text) {
  if (body->size() < 4) return false;
  const auto size = static_cast<size_t>(number_at(body->data(), 4));
  if (size > body->size() - 4) return false;
  text->assign(body->data() + 4, size);
  *body = Span<const char>(body->data() + 4 + size, body->size() - 4 - size);
  return true;
}

// Places in a head.
constexpr size_t kNumberAt = 4, kSizeAt = 12, kBodyChecksumAt = 16, kHeadChecksumAt = 20;

}  // namespace

uint32_t record_checksum(const char* bytes, size_t size) {
  return static_cast<uint32_t>(
      crc32_z(crc32_z(0, nullptr, 0), reinterpret_cast<const Bytef*>(bytes), size));
}

void append_record(const Message& message, uint64_t number, std::string* out) {
  const size_t begin = out->size();
  const size_t texts = message.topic.size() + message.key.size() + message.body.size();
  out->reserve(begin + kRecordHead + kLeastBody + texts);
  out->append(kRecordMark, sizeof(kRecordMark));
  append_number(number, 8, out);
  append_number(kLeastBody + texts, 4, out);
  out->append(kRecordHead - kBodyChecksumAt, '\0');
  for (const std::string* text : {&message.topic, &message.key, &message.body}) {
    append_number(text->size(), 4, out);
    *out += *text;
  }
  std::string checksum;
  append_number(record_checksum(out->data() + begin + kRecordHead, kLeastBody + texts), 4,
                &checksum);
  out->replace(begin + kBodyChecksumAt, 4, checksum);
  checksum.clear();
  append_number(record_checksum(out->data() + begin, kHeadChecksumAt), 4, &checksum);
  out->replace(begin + kHeadChecksumAt, 4, checksum);
}

std::optional<RecordHead> read_head(Span<const char> bytes) {
  if (bytes.size() < kRecordHead ||
      std::memcmp(bytes.data(), kRecordMark, sizeof(kRecordMark)) != 0 ||
      number_at(bytes.data() + kHeadChecksumAt, 4) !=
          record_checksum(bytes.data(), kHeadChecksumAt)) {
    return std::nullopt;
  }
  RecordHead head;
  head.number = number_at(bytes.data() + kNumberAt, 8);
  head.body_bytes = static_cast<size_t>(number_at(bytes.data() + kSizeAt, 4));
  head.body_checksum = static_cast<uint32_t>(number_at(bytes.data() + kBodyChecksumAt, 4));
  if (head.body_bytes < kLeastBody || head.body_bytes > kMostRecordBytes) return std::nullopt;
  return head;
}

std::optional<Message> read_body(const RecordHead& head, Span<const char> body) {
  if (head.body_bytes != body.size() ||
      head.body_checksum != record_checksum(body.data(), body.size())) {
    return std::nullopt;
  }
  Message message;
  if (!take_text(&body, &message.topic) || !take_text(&body, &message.key) ||
      !take_text(&body, &message.body) || !body.empty()) {
    return std::nullopt;
  }
  return message;
}

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
