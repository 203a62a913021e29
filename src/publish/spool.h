// SPDX-License-Identifier: Apache-2.0
// Messages that wait on disk, oldest first: a folder of segments that are only appended to. A
// message is read, and leaves once it and all before it are acknowledged; so a process that dies
// finds the rest when it is started again, and perhaps a few that were delivered: receivers know
// these by their ids.
//
// The folder is of one spool at a time, which locks it. A record that was torn by a power cut ends
// its segment. The spool never has more than `most_bytes`: the oldest segment goes then, and what
// was not delivered of it is counted as dropped. A spool is of one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "publish/message.h"

namespace dvnn::publish {

class Spool {
 public:
  struct Bounds {
    uint64_t most_bytes = uint64_t{256} << 20;
    uint64_t segment_bytes = 0;  // 0: a sixteenth of all, but no more than 8 MiB
  };
  /// The place where a message ends.
  struct Place {
    uint64_t segment = 0, end = 0;
  };
  struct Entry {
    Message message;
    Place place;
  };

  /// Makes the folder if there is none, and finds what an earlier process has left.
  static Result<std::unique_ptr<Spool>> open(const std::string& folder, const Bounds& bounds);
  ~Spool();
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;

  /// Appends a message after all others. After an error the spool is as it was.
  Status append(const Message& message);
  /// Waits until the disk has what was appended.
  Status sync();
  /// The next message that was not read yet; nothing if there is none.
  std::optional<Entry> read();
  bool has_unread() const { return unread_ > 0; }
  /// The message at `place` and all before it are delivered.
  void acknowledge(const Place& place);
  /// Makes messages that were read but not acknowledged be read again.
  void rewind();
  /// Writes down what is acknowledged; done by itself now and then.
  void remember_place();

  /// Messages that are not acknowledged.
  uint64_t messages() const { return unread_ + unacknowledged_; }
  uint64_t bytes() const { return bytes_; }
  /// Messages that the bound or damage has cost since the last call.
  uint64_t take_dropped() { return std::exchange(dropped_, 0); }

 private:
  struct Segment {
    uint64_t number = 0, bytes = 0;                    // bytes: of whole records
    uint64_t records = 0, read = 0, acknowledged = 0;  // records
  };
  Spool(std::string folder, const Bounds& bounds);
  Status lock();
  Status scan();
  Status start_segment();
  void make_room(uint64_t bytes);
  void drop_oldest();
  void remove_oldest();
  void skip_damage(Segment* segment);
  std::string path_of(uint64_t number) const;
  bool open_for_reading(uint64_t number);
  void close_reading();

  const std::string folder_;
  Bounds bounds_;
  std::deque<Segment> segments_;
  int lock_ = -1, writing_ = -1, reading_ = -1;
  uint64_t reading_segment_ = 0;
  Place next_;          // what is read next begins here
  Place acknowledged_;  // all before here is delivered
  uint64_t bytes_ = 0, unread_ = 0, unacknowledged_ = 0, dropped_ = 0;
  uint64_t acknowledged_since_ = 0;
  std::string buffer_;
};

}  // namespace dvnn::publish
