// SPDX-License-Identifier: Apache-2.0
#include "infer/inferstats.h"
#include "base/nth.h"
#include "refs.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace dvnn::gst {

int Durations::bin(int64_t microseconds) {
  if (microseconds <= 1) return 0;
  const int i = static_cast<int>(std::log2(static_cast<double>(microseconds)) * kPerOctave);
  return std::min(i, kPerOctave * kOctaves - 1);
}

double Durations::upper_edge(int bin) {
  return std::exp2(static_cast<double>(bin + 1) / kPerOctave);
}

void Durations::add(int64_t microseconds) {
  ++nth(bins_, bin(microseconds));
  ++count_;
  sum_us_ += static_cast<double>(microseconds);
  max_us_ = std::max(max_us_, microseconds);
}

double Durations::percentile_us(double fraction) const {
  const double wanted = fraction * static_cast<double>(count_);
  double seen = 0;
  for (int i = 0; i < kPerOctave * kOctaves; ++i) {
    seen += nth(bins_, i);
    if (seen >= wanted && seen > 0) {
      return std::min(upper_edge(i), static_cast<double>(max_us_));
    }
  }
  return 0;
}

// The bounds are whole octaves, where bins begin: half a millisecond to eight seconds.
GstStructure* Durations::buckets() const {
  constexpr int kFirst = 9, kLast = 23;
  GstStructure* s = gst_structure_new_empty("buckets");
  guint64 shorter = 0;
  int next = 0;
  for (int octave = kFirst; octave <= kLast; ++octave) {
    for (; next < octave * kPerOctave; ++next) shorter += nth(bins_, next);
    const std::string name = "us-" + std::to_string(1 << octave);
    gst_structure_set(s, name.c_str(), G_TYPE_UINT64, shorter, nullptr);
  }
  return s;
}

GstStructure* Durations::to_structure(const char* name) const {
  constexpr double kMs = 1e-3;
  const double mean = count_ > 0 ? sum_us_ / static_cast<double>(count_) : 0;
  const StructurePtr octaves(buckets());
  return gst_structure_new(
      name, "mean", G_TYPE_DOUBLE, mean * kMs, "p50", G_TYPE_DOUBLE, percentile_us(0.5) * kMs,
      "p99", G_TYPE_DOUBLE, percentile_us(0.99) * kMs, "max", G_TYPE_DOUBLE,
      static_cast<double>(max_us_) * kMs, "count", G_TYPE_UINT64, static_cast<guint64>(count_),
      "sum", G_TYPE_DOUBLE, sum_us_ * kMs, "buckets", GST_TYPE_STRUCTURE, octaves.get(), nullptr);
}

void InferStats::reset() {
  const std::lock_guard<std::mutex> lock(mutex_);
  counts_.fill(0);
  times_.fill({});
  started_us_ = running_since_us_ = g_get_monotonic_time();
  running_us_ = 0;
  queued_us_ = most_busy_us_ = 0;
}

void InferStats::count(Count what) {
  const std::lock_guard<std::mutex> lock(mutex_);
  ++nth(counts_, what);
}

void InferStats::time(Time what, int64_t microseconds) {
  const std::lock_guard<std::mutex> lock(mutex_);
  nth(times_, what).add(microseconds);
}

void InferStats::run_begins() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (running_++ == 0) running_since_us_ = g_get_monotonic_time();
}

void InferStats::run_ends(int64_t queued_us) {
  const std::lock_guard<std::mutex> lock(mutex_);
  queued_us_ += static_cast<double>(queued_us);
  if (--running_ == 0) running_us_ += g_get_monotonic_time() - running_since_us_;
}

guint64 InferStats::get(Count what) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return nth(counts_, what);
}

GstStructure* InferStats::to_structure() const {
  static const char* const kCounts[] = {"inferred", "passed", "late", "dropped", "waits", "joined"};
  static const char* const kTimes[] = {"conversion", "waiting", "device", "cpu"};
  const std::lock_guard<std::mutex> lock(mutex_);
  GstStructure* s = gst_structure_new_empty("dvnn-stats");
  for (size_t i = 0; i < counts_.size(); ++i) {
    gst_structure_set(s, kCounts[i], G_TYPE_UINT64, counts_[i], nullptr);
  }
  for (size_t i = 0; i < times_.size(); ++i) {
    const StructurePtr times(times_[i].to_structure(kTimes[i]));
    gst_structure_set(s, kTimes[i], GST_TYPE_STRUCTURE, times.get(), nullptr);
  }
  const int64_t now = g_get_monotonic_time();
  const double elapsed = static_cast<double>(std::max<int64_t>(1, now - started_us_));
  const int64_t running = running_us_ + (running_ > 0 ? now - running_since_us_ : 0);
  // The device is busy while anything runs, with this or what is before it in the line, except for
  // the share of the layers on the CPU.
  const double device = nth(times_, Time::kDevice).sum_us() + queued_us_;
  const double all = device + nth(times_, Time::kCpu).sum_us();
  const double busy = all > 0 ? std::min(elapsed, static_cast<double>(running) * device / all) : 0;
  // The device's share of a run is an estimate, and may fall; who counts with it expects that the
  // time does not.
  most_busy_us_ = std::max(most_busy_us_, busy);
  constexpr double kSeconds = 1e-6;
  gst_structure_set(s, "device-busy", G_TYPE_DOUBLE, busy / elapsed, "device-busy-seconds",
                    G_TYPE_DOUBLE, most_busy_us_ * kSeconds, nullptr);
  return s;
}

}  // namespace dvnn::gst
