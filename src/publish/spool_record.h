// SPDX-License-Identifier: Apache-2.0
// The form of a message in a spool's segment: its size, a checksum, and its three texts. All
// numbers are little-endian. What is read may be torn or hostile.
#pragma once

#include <optional>

#include "base/span.h"
#include "publish/message.h"

namespace dvnn::publish {

constexpr size_t kRecordHead = 8;  // size of what follows, and its CRC-32
constexpr size_t kMostRecordBytes = size_t{64} << 20;

/// Appends the record to `out`.
void append_record(const Message& message, std::string* out);

/// The size of the body that a head announces; nothing if no record has that head.
std::optional<size_t> record_body_size(Span<const char> head);

/// The message of a head and its body; nothing if they were not written by append_record().
std::optional<Message> read_record(Span<const char> head, Span<const char> body);

}  // namespace dvnn::publish
