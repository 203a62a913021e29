// SPDX-License-Identifier: Apache-2.0
// Messages that wait on disk, oldest first: a folder of segments that are only appended to. A
// message is read, and leaves once it and all before it are acknowledged; so a process that dies
// finds the rest when it is started again, and perhaps a few that were delivered: receivers know
// these by their ids.
//
// Messages are numbered without gaps, and a segment is named after its first. So what is missing is
// counted exactly: a damaged byte costs the message that it is in, the search for the next head
// goes on behind it, and the gap in the numbers tells how many were lost. The file `place` says
// what is acknowledged and how many messages wait; it is believed as far as the segments bear it
// out.
//
// The folder is of one spool at a time, which locks it, and belongs to the process's user, who
// alone may write to it. Everything in it is opened within the folder, without following links, and
// only if it is a regular file of that user; what else has the name of a file of ours is renamed to
// NAME.bad. The spool never has more than `most_bytes`: the oldest segment goes then, and what was
// not delivered of it is counted as dropped. A spool is of one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "base/file.h"
#include "base/result.h"
#include "publish/message.h"

namespace dvnn::publish {

class Spool {
 public:
  struct Bounds {
    uint64_t most_bytes = uint64_t{256} << 20;
    uint64_t segment_bytes = 0;  // 0: a sixteenth of all, but no more than 8 MiB
  };
  /// A message, and where it ends.
  struct Place {
    uint64_t number = 0;   // of the message
    uint64_t segment = 0;  // the number of the segment's first message
    uint64_t end = 0;      // in the segment's file
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
  /// Waits until everything that was appended is on the disk.
  Status sync();
  /// Returns the next message that was not read yet, or nothing.
  std::optional<Entry> read();
  bool has_unread() const { return unread_ > 0; }
  /// Marks the message at `place` as delivered. Messages must be marked in the order in which they
  /// were read.
  void acknowledge(const Place& place);
  /// Makes messages that were read but not acknowledged readable again.
  void rewind();
  /// Writes what is acknowledged to the file `place`; also done automatically now and then.
  void remember_place();

  /// Returns the number of messages that are not acknowledged.
  uint64_t messages() const { return unread_ + unacknowledged_; }
  uint64_t bytes() const { return bytes_; }
  /// Returns how many messages the size bound or damage has cost since the last call.
  uint64_t take_dropped() { return std::exchange(dropped_, 0); }

 private:
  struct Segment {
    uint64_t first = 0, bytes = 0;                     // number of its first message; of the file
    uint64_t records = 0, read = 0, acknowledged = 0;  // records that are whole
  };
  // What `place` says.
  struct Remembered {
    uint64_t acknowledged = 0, last = 0;  // numbers
    uint64_t waiting = 0;                 // messages after the one and up to the other
  };
  Spool(std::string folder, const Bounds& bounds);
  Status open_folders();
  Status lock();
  Status scan();
  Status scan_segment(uint64_t first, const Remembered& remembered);
  std::optional<Remembered> read_place();
  bool set_aside(const std::string& name);
  Status start_segment();
  void make_room(uint64_t bytes);
  void drop_oldest();
  void remove_oldest();
  void skip_damage(Segment* segment);
  bool open_for_reading(uint64_t first);
  void close_reading();

  const std::string path_;
  Bounds bounds_;
  std::deque<Segment> segments_;
  File folder_, lock_, writing_, reading_;
  uint64_t reading_segment_ = 0;
  Place next_;          // what is read next begins at its end
  Place acknowledged_;  // it and all before it are delivered
  uint64_t last_ = 0;   // the number that was given last
  uint64_t bytes_ = 0, unread_ = 0, unacknowledged_ = 0, dropped_ = 0;
  uint64_t acknowledged_since_ = 0;
  std::string buffer_;
};

}  // namespace dvnn::publish
