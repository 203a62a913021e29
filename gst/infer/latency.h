// SPDX-License-Identifier: Apache-2.0
// Measures how long dvinfer keeps frames, for the LATENCY query: waiting, conversion and the run,
// at their usual worst. What a frame waits because downstream has not taken the one before is
// downstream's, not ours: a sink that waits for the clock would otherwise raise our latency, which
// would make it wait longer still.
//
// The usual worst is what all but a few of the last frames do not exceed. As many frames are left
// out as one hiccup of the machine can touch, those that are held when it comes, and a few more: a
// process that was stopped for two seconds makes these frames late, and no others. The reported
// value grows as soon as the usual worst exceeds it. It falls when the pipeline asks for it (it is
// prerolled, seeks, or has had a LATENCY message) and the last frames have needed much less; once
// they have needed less than half of it for a whole window, the pipeline is told to ask.
#pragma once

#include <gst/gst.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>

namespace dvnn::gst {

/// Spans of monotonic time in order, the last few hundred.
class Spans {
 public:
  void add(int64_t start_us, int64_t end_us);
  /// Returns how much of [start, end] they cover.
  int64_t within(int64_t start_us, int64_t end_us) const;
  void clear() { spans_.clear(); }

 private:
  struct Span {
    int64_t start, end;
  };
  std::deque<Span> spans_;
};

/// The last values of a stream of them.
class LastValues {
 public:
  static constexpr size_t kMost = 512;

  void add(int64_t value);
  size_t count() const { return count_; }
  /// Returns the largest value beside the `outliers` largest ones; 0 if there is none.
  int64_t largest_but(size_t outliers) const;
  void clear() { count_ = next_ = 0; }

 private:
  std::array<int64_t, kMost> values_{};
  size_t count_ = 0, next_ = 0;
};

/// The times of a frame's events, in microseconds of monotonic time; 0: the event did not happen.
struct FrameTimes {
  int64_t arrived = 0;   // at dvinfer
  int64_t admitted = 0;  // there was room for it, and a slot
  int64_t started = 0;   // a worker took it
  int64_t finished = 0;  // it was run, or passed
};

/// Thread safe.
class LatencyMeter {
 public:
  void reset();
  /// So many frames are held at once at most: one hiccup delays these.
  void set_capacity(size_t frames);
  /// An upstream thread was held up from `start` to `end`, in dvconvert or in dvinfer.
  void occupied(int64_t start_us, int64_t end_us);
  /// Downstream kept the source pad's thread from `start` to `end`.
  void blocked(int64_t start_us, int64_t end_us);
  /// A frame is ready to leave. `waited_upstream_us` is how long it was under way before it
  /// arrived, beyond what upstream has reported (0 if not live): it counts as far as we were the
  /// reason. A frame that no worker has run waits for those before it alone, and does not count.
  void frame_ready(const FrameTimes& times, int64_t waited_upstream_us);
  /// Sets a likely value, which counts until there are frames enough to tell.
  void estimate(int64_t microseconds);

  /// The latency as it was reported last.
  GstClockTime reported() const;
  /// The latency to report to a pipeline that asks: here it may fall.
  GstClockTime answer();
  /// True once after it has grown, or should be asked for because it may fall.
  bool take_change();

 private:
  size_t outliers(size_t count) const;
  int64_t usual() const;
  void settle();

  mutable std::mutex mutex_;
  Spans occupied_, blocked_;
  LastValues kept_, stays_;
  size_t capacity_ = 0, low_ = 0;
  int64_t last_ready_ = 0, usually_kept_ = 0, estimate_us_ = 0, reported_us_ = 0;
  bool changed_ = false;
};

}  // namespace dvnn::gst
