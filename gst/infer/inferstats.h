// SPDX-License-Identifier: Apache-2.0
// dvinfer's counters and timers; they include dvconvert's part.
#pragma once

#include <gst/gst.h>

#include <array>
#include <cstdint>
#include <mutex>

namespace dvnn::gst {

/// A histogram of durations. Its bins grow by an eighth, so percentiles are within 12.5 % of the
/// truth, in constant memory.
class Durations {
 public:
  void add(int64_t microseconds);
  /// Returns mean, p50, p99, max and sum in milliseconds, the count, and in `buckets`, by a bound
  /// in microseconds (us-512, us-1024, ...), how many were shorter. (transfer full)
  GstStructure* to_structure(const char* name) const;
  double sum_us() const { return sum_us_; }
  double percentile_us(double fraction) const;

 private:
  static constexpr int kPerOctave = 8, kOctaves = 36;
  static int bin(int64_t microseconds);
  static double upper_edge(int bin);
  GstStructure* buckets() const;

  std::array<uint32_t, size_t{kPerOctave} * kOctaves> bins_{};
  int64_t count_ = 0, max_us_ = 0;
  double sum_us_ = 0;
};

/// Counters and timers of one dvinfer. Thread safe.
class InferStats {
 public:
  enum class Count { kInferred, kPassed, kLate, kDropped, kWaits, kJoined, kLast };
  enum class Time { kConversion, kWaiting, kDevice, kCpu, kLast };

  void reset();
  void count(Count what);
  void time(Time what, int64_t microseconds);
  /// Called around each run. The device can only be busy while at least one run is going on.
  /// `queued_us` of its microseconds it waited for others on the device.
  void run_begins();
  void run_ends(int64_t queued_us);
  guint64 get(Count what) const;
  /// Returns "dvnn-stats" without the fields about slots. (transfer full)
  GstStructure* to_structure() const;

 private:
  mutable std::mutex mutex_;
  std::array<guint64, static_cast<size_t>(Count::kLast)> counts_{};
  std::array<Durations, static_cast<size_t>(Time::kLast)> times_{};
  int64_t started_us_ = g_get_monotonic_time();
  int running_ = 0;
  int64_t running_since_us_ = 0, running_us_ = 0;
  double queued_us_ = 0;
  mutable double most_busy_us_ = 0;  // as told so far
};

}  // namespace dvnn::gst
