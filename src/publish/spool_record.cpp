// SPDX-License-Identifier: Apache-2.0
#include "publish/spool_record.h"

#include <zlib.h>

#include <cstdint>

namespace dvnn::publish {
namespace {

void append_u32(size_t value, std::string* out) {
  for (int shift = 0; shift < 32; shift += 8) {
    out->push_back(static_cast<char>(static_cast<unsigned char>(value >> shift)));
  }
}

uint32_t u32_at(const char* bytes) {
  uint32_t value = 0;
  for (int i = 3; i >= 0; --i) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

uint32_t checksum(const char* bytes, size_t size) {
  return static_cast<uint32_t>(
      crc32_z(crc32_z(0, nullptr, 0), reinterpret_cast<const Bytef*>(bytes), size));
}

// Takes a text with its size off the front of `body`.
bool take_text(Span<const char>* body, std::string* text) {
  if (body->size() < 4) return false;
  const size_t size = u32_at(body->data());
  if (size > body->size() - 4) return false;
  text->assign(body->data() + 4, size);
  *body = Span<const char>(body->data() + 4 + size, body->size() - 4 - size);
  return true;
}

}  // namespace

void append_record(const Message& message, std::string* out) {
  std::string body;
  body.reserve(message.bytes() + 12);
  for (const std::string* text : {&message.topic, &message.key, &message.body}) {
    append_u32(text->size(), &body);
    body += *text;
  }
  append_u32(body.size(), out);
  append_u32(checksum(body.data(), body.size()), out);
  *out += body;
}

std::optional<size_t> record_body_size(Span<const char> head) {
  if (head.size() < kRecordHead) return std::nullopt;
  const size_t size = u32_at(head.data());
  constexpr size_t kLeast = 12;  // three empty texts
  if (size < kLeast || size > kMostRecordBytes) return std::nullopt;
  return size;
}

std::optional<Message> read_record(Span<const char> head, Span<const char> body) {
  const auto size = record_body_size(head);
  if (!size || *size != body.size() ||
      u32_at(head.data() + 4) != checksum(body.data(), body.size())) {
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
