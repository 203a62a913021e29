// SPDX-License-Identifier: Apache-2.0
// Measures how long dvinfer keeps frames, for the LATENCY query: waiting, conversion and the run,
// at the worst that was seen. What a frame waits because downstream has not taken the one before is
// downstream's, not ours: a sink that waits for the clock would otherwise raise our latency, which
// would make it wait longer still.
#pragma once

#include <gst/gst.h>

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
  /// An upstream thread was held up from `start` to `end`, in dvconvert or in dvinfer.
  void occupied(int64_t start_us, int64_t end_us);
  /// Downstream kept the source pad's thread from `start` to `end`.
  void blocked(int64_t start_us, int64_t end_us);
  /// A frame is ready to leave. `waited_upstream_us` is how long it was under way before it
  /// arrived, beyond what upstream has reported (0 if not live): it counts as far as we were the
  /// reason.
  void frame_ready(const FrameTimes& times, int64_t waited_upstream_us);
  /// Sets a likely value before there are frames.
  void estimate(int64_t microseconds);

  /// The latency to report; it never falls.
  GstClockTime reported() const;
  /// True once after it has grown.
  bool take_growth();

 private:
  void grow(int64_t microseconds);

  mutable std::mutex mutex_;
  Spans occupied_, blocked_;
  int64_t last_ready_ = 0, longest_kept_ = 0;
  int64_t reported_us_ = 0;
  bool grown_ = false;
};

}  // namespace dvnn::gst
