// SPDX-License-Identifier: Apache-2.0
// Finds the records in a spool's segment, also behind damage.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "publish/spool_record.h"

namespace dvnn::publish {

/// Largest message number: 15 digits, one fewer than file names have room for.
constexpr uint64_t kMostNumber = 999'999'999'999'999;

std::string segment_name(uint64_t first);
/// Returns the number in a segment's file name, or 0 if it is another file.
uint64_t number_in_name(const std::string& name);

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
