// SPDX-License-Identifier: Apache-2.0
#include "publish/spool_record.h"

#include <zlib.h>

#include <cstring>

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

}  // namespace dvnn::publish
