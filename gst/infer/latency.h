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

/// Ring of a stream's last values.
class LastValues {
 public:
  static constexpr size_t kMost = 512;

  void add(int64_t value);
  size_t count() const { return count_; }
  /// Returns the largest value after the `outliers` largest are left out, or 0 if none is left.
  int64_t largest_but(size_t outliers) const;
  void clear() { count_ = next_ = 0; }

 private:
  std::array<int64_t, kMost> values_{};
  size_t count_ = 0, next_ = 0;
};

/// Times of a frame's events, in microseconds of monotonic time. 0: the event did not happen.
struct FrameTimes {
  int64_t arrived = 0;   // at dvinfer
  int64_t admitted = 0;  // when there was room for it, and a slot
  int64_t started = 0;   // when a worker took it
  int64_t finished = 0;  // when it was run, or passed
};

/// Measures the latency of one dvinfer. Thread safe.
class LatencyMeter {
 public:
  void reset();
  /// Sets how many frames are held at once at most, which is how many one hiccup can delay.
  void set_capacity(size_t frames);
  /// Notes that dvconvert or dvinfer held an upstream thread up from `start` to `end`.
  void occupied(int64_t start_us, int64_t end_us);
  /// Notes that downstream kept the source pad's thread from `start` to `end`.
  void blocked(int64_t start_us, int64_t end_us);
  /// Notes that a frame is ready to leave. `waited_upstream_us` is how long it travelled before it
  /// arrived, beyond the upstream latency (0 if not live); it counts as far as this element was the
  /// cause. A frame that no worker has run only waits for those before it, and does not count.
  void frame_ready(const FrameTimes& times, int64_t waited_upstream_us);
  /// Sets a likely value, which is used until enough frames were measured.
  void estimate(int64_t microseconds);

  /// Returns the latency that was last reported.
  GstClockTime reported() const;
  /// Returns the latency for a pipeline that queries it. Only this call may lower it.
  GstClockTime answer();
  /// Returns true once after the latency has grown, or could fall if queried.
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
