// SPDX-License-Identifier: Apache-2.0
// One axis of time for a recording whose streams' times may jump: when a camera's clock is set,
// after a seek, or when a connection was lost. The video's time leads. Where it jumps, a new
// *stretch* begins, and the line goes on from the end of the one before: the line never goes back,
// and a jump of an hour is no hour in a clip. The other streams follow: the same time may be in
// several stretches, and each stream remembers in which one it is.
//
// For one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

namespace dvnn::record {

/// Nanoseconds: of a stream's running time, or on the line.
using Time = int64_t;
constexpr Time kSecond = 1000000000, kMillisecond = 1000000;

/// A place on the line.
struct Place {
  uint64_t stretch = 0;
  Time time = 0;
};

class TimeLine {
 public:
  /// A forward step that begins a stretch, and a backward one that does.
  static constexpr Time kGap = 10 * kSecond, kBack = kSecond;

  /// Places the next unit of the video by its decode time. `flushes`: the number of flushes since
  /// the last one, after which it begins elsewhere.
  Place lead(Time decode, uint64_t flushes);
  /// Notes that the video of this stretch reaches until then, so that the next one begins after it.
  void reach(Time line);

  bool empty() const { return stretches_.empty(); }
  size_t size() const { return stretches_.size(); }
  bool knows(uint64_t stretch) const { return stretch >= begin_ && stretch - begin_ < size(); }
  /// Return the numbers of the first stretch that is remembered and of the last one.
  uint64_t first() const { return begin_; }
  uint64_t last() const { return begin_ + stretches_.size() - 1; }
  /// Returns whether a stream's time lies in a stretch. To the last one belongs what is ahead of
  /// the video, unless a gap may lie between them.
  bool holds(uint64_t stretch, Time time) const;
  /// Returns the place on the line of a stream's time in a stretch.
  Time line(uint64_t stretch, Time time) const { return time + at(stretch).offset; }
  /// Returns how many flushes came before a stretch.
  uint64_t flushes(uint64_t stretch) const { return at(stretch).flushes; }
  /// Returns where a stretch begins on the line.
  Time begin(uint64_t stretch) const { return at(stretch).first + at(stretch).offset; }

 private:
  struct Stretch {
    Time first = 0, last = 0;  // decode times of the stream
    Time offset = 0;           // from the stream's time to the line's
    uint64_t flushes = 0;      // before it
  };
  const Stretch& at(uint64_t stretch) const { return stretches_[stretch - begin_]; }

  std::deque<Stretch> stretches_;
  uint64_t begin_ = 0;  // number of the first one that is known
  Time end_ = 0;        // of the line
};

/// Where a stream that follows is.
class Follower {
 public:
  /// Places a stream's next time. Nothing if the video has not come there yet.
  std::optional<Place> follow(const TimeLine& line, Time time);
  /// The stream was flushed: what follows belongs to a stretch after as many flushes of the video.
  void flush(uint64_t times) { flushes_ += times; }
  /// Places a time of which the stream has told before its unit of the time `now`: it is of the
  /// stretch that was left if it lies behind `now`, because nothing is told in advance.
  std::optional<Place> place_told(const TimeLine& line, Time time, Time now) const;

 private:
  std::optional<Place> place_from(const TimeLine& line, uint64_t from, Time time) const;

  bool known_ = false;
  uint64_t flushes_ = 0;
  uint64_t stretch_ = 0, before_ = 0;
  Time last_ = 0;
};

}  // namespace dvnn::record
