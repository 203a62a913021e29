// SPDX-License-Identifier: Apache-2.0
// The form of a message in a spool's segment. A head says that a record begins here, its number and
// its size, with a checksum of its own: so a damaged body does not hide where the next record
// begins. The body is three texts with their sizes. All numbers are little-endian. What is read may
// be torn, damaged or hostile.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/span.h"
#include "publish/message.h"

namespace dvnn::publish {

constexpr size_t kRecordHead = 24;  // mark, number, size, checksum of the body, of the head
constexpr size_t kLeastBody = 12;   // three empty texts
constexpr size_t kMostRecordBytes = size_t{64} << 20;
/// Begins each record. No UTF-8 has these bytes, so no document looks like a head.
constexpr char kRecordMark[] = {'\xff', 'D', 'V', '\xfe'};

/// Appends the record to `out`.
void append_record(const Message& message, uint64_t number, std::string* out);

struct RecordHead {
  uint64_t number = 0;
  size_t body_bytes = 0;
  uint32_t body_checksum = 0;
};

/// Parses a record's head. Returns nothing if it is no valid head.
std::optional<RecordHead> read_head(Span<const char> bytes);

/// Parses the body that belongs to `head`. Returns nothing if append_record() has not written it
/// so.
std::optional<Message> read_body(const RecordHead& head, Span<const char> body);

/// Returns the CRC-32.
uint32_t record_checksum(const char* bytes, size_t size);

}  // namespace dvnn::publish
