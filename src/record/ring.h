// SPDX-License-Identifier: Apache-2.0
// What a stream showed last, as it is encoded. A ring holds tracks: the video, whose units come in
// groups that begin with a key unit, and others, such as audio. It is the only place where units
// wait: who writes a file reads from the ring, and if he is too slow, or stands still because a
// disk is dead, the oldest groups go all the same, and he is told how many he has missed.
//
// The rings of a process share a Memory, whose mutex guards them all: the calls are short.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "record/time_line.h"

namespace dvnn::record {

/// A packet of a track: what a decoder takes at once.
struct Unit {
  Time time = 0,
       decode = 0;    // when it is shown, and its place among all tracks' units; on the line
  Time duration = 0;  // 0: not known
  bool key = false;   // of the video: decoding may begin here
  size_t bytes = 0;
  std::shared_ptr<const void> format;  // of the track from this unit on; compared only
  std::shared_ptr<const void> data;
};

class Ring;

/// A budget of memory that rings share. What one does not need another may have; when all is in
/// use, the largest ring gives.
class Memory {
 public:
  explicit Memory(uint64_t most) : most_(most) {}
  std::mutex mutex;  // of all rings

  /// Raises the budget to at least `most` bytes. Takes the mutex.
  void raise(uint64_t most) {
    const std::lock_guard<std::mutex> lock(mutex);
    most_ = std::max(most_, most);
  }

  // Under the mutex.
  uint64_t used() const { return used_; }
  /// Lets old groups go until `bytes` are free. Returns false if there are not so many in all.
  bool make_room(uint64_t bytes);

 private:
  friend class Ring;
  uint64_t most_, used_ = 0;
  std::vector<Ring*> rings_;
};

/// A place in a ring from which units are read. Under the mutex.
struct Reader {
  std::vector<uint64_t> next;  // number of the next unit of each track
  uint64_t lost = 0;           // units of the video that had gone before they were read
};

/// Under the memory's mutex, but for the constructor and the destructor, which take it.
class Ring {
 public:
  static constexpr size_t kVideo = 0;  // the first track
  /// What a unit costs beside its bytes.
  static constexpr uint64_t kUnitBytes = 512;

  Ring(std::shared_ptr<Memory> memory, size_t tracks);
  ~Ring();
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  /// Adds a unit at the end of its track. Returns false, and adds nothing, if the memory has no
  /// room for it, or if the video needs a key unit first.
  bool add(size_t track, Unit unit);
  /// Ends the video's last group: the next unit has to be a key.
  void break_video() { needs_key_ = true; }
  bool needs_key() const { return needs_key_; }
  /// Lets groups go that lie before the one which shows `floor`, but for those that a reader has
  /// still to read.
  void trim(Time floor);
  /// Lets the oldest group go, whoever may need it. Returns false if there is none.
  bool drop_oldest();

  /// Returns a reader at the last key unit at or before `want`, but not before `least`, unless the
  /// event itself could not be decoded then. An event that is older than the ring gets its oldest
  /// key unit. Null if there is none. end() ends it.
  Reader* begin(Time want, Time event, Time least);
  void end(Reader* reader);
  /// Returns the time at which begin() would begin.
  std::optional<Time> begin_time(Time want, Time event, Time least) const;
  /// Returns the time of the last key unit at or before `time`.
  std::optional<Time> key_before(Time time) const;
  /// Returns the reader's next unit whose decode time is at most `limit`, and its track; null if
  /// none is there yet. pass() goes on to the next one.
  const Unit* peek(Reader* reader, Time limit, size_t* track);
  void pass(Reader* reader, size_t track) { ++reader->next[track]; }
  /// Returns how many units of the video have gone before the reader could read them.
  uint64_t lost(const Reader& reader) const;

  uint64_t bytes() const { return bytes_; }
  size_t units(size_t track) const { return tracks_[track].units.size(); }

 private:
  struct Track {
    std::deque<Unit> units;
    uint64_t first = 0;  // number of the first unit
    uint64_t end() const { return first + units.size(); }
  };
  void pop(Track* track);
  size_t group_units() const;
  std::optional<size_t> key_for(Time want, Time event, Time least) const;
  void trim_others();

  const std::shared_ptr<Memory> memory_;
  std::vector<Track> tracks_;
  std::vector<std::unique_ptr<Reader>> readers_;
  uint64_t bytes_ = 0;
  bool needs_key_ = true;
};

}  // namespace dvnn::record
