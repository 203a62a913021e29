// SPDX-License-Identifier: Apache-2.0
// A spool's segment: the form of a message in it, and a reader that finds the records, also behind
// damage. A head says that a record begins here, its number and its size, with a checksum of its
// own: so a damaged body does not hide where the next record begins. The body is three texts with
// their sizes. All numbers are little-endian. What is read may be torn, damaged or hostile.
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

/// Largest message number: 15 digits, one fewer than file names have room for.
constexpr uint64_t kMostNumber = 999'999'999'999'999;

std::string segment_name(uint64_t first);
/// Returns the number in a segment's file name, or 0 if it is another file.
uint64_t number_in_name(const std::string& name);

/// Finds the records of a segment, also behind damage.
class SegmentReader {
 public:
  struct Record {
    uint64_t number = 0;
    uint64_t end = 0;                // in the file
    std::optional<Message> message;  // nothing: its body is damaged or torn
  };

  /// The file's first message has at least the number `first`, and every next one a larger one.
  SegmentReader(int file, uint64_t first, uint64_t bytes, std::string* buffer);

  /// Continues behind the message with this number, which ends at `end`.
  void go_on_after(uint64_t number, uint64_t end);
  /// Returns the next record with an intact head, or nothing if there is none before the file's
  /// end.
  std::optional<Record> next();
  /// Returns the end of the last record.
  uint64_t end() const { return end_; }

 private:
  bool read(uint64_t at, size_t size);
  std::optional<RecordHead> fitting_head(Span<const char> bytes) const;
  std::optional<RecordHead> find_head(uint64_t* at);

  const int file_;
  const uint64_t bytes_;
  uint64_t end_ = 0, least_number_, most_number_;
  std::string* const buffer_;
};

}  // namespace dvnn::publish
