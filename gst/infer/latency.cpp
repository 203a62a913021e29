// SPDX-License-Identifier: Apache-2.0
#include "infer/latency.h"

#include <algorithm>
#include <utility>

namespace dvnn::gst {
namespace {

constexpr size_t kMaxSpans = 512;
// Reported above what was seen, so that ordinary jitter does not make the pipeline compute its
// latency again and again.
constexpr int64_t kHeadroomPercent = 15;
constexpr int64_t kHeadroomUs = 1000;

}  // namespace

void Spans::add(int64_t start_us, int64_t end_us) {
  if (end_us <= start_us) return;
  if (spans_.size() == kMaxSpans) spans_.pop_front();
  spans_.push_back({start_us, end_us});
}

int64_t Spans::within(int64_t start_us, int64_t end_us) const {
  int64_t sum = 0;
  for (auto span = spans_.rbegin(); span != spans_.rend() && span->end > start_us; ++span) {
    sum += std::max<int64_t>(0, std::min(span->end, end_us) - std::max(span->start, start_us));
  }
  return sum;
}

void LatencyMeter::reset() {
  const std::lock_guard<std::mutex> lock(mutex_);
  occupied_.clear();
  blocked_.clear();
  last_ready_ = longest_kept_ = reported_us_ = 0;
  grown_ = false;
}

void LatencyMeter::occupied(int64_t start_us, int64_t end_us) {
  const std::lock_guard<std::mutex> lock(mutex_);
  // Held up by downstream through us: not our doing.
  if (2 * blocked_.within(start_us, end_us) > end_us - start_us) return;
  occupied_.add(start_us, end_us);
}

void LatencyMeter::blocked(int64_t start_us, int64_t end_us) {
  const std::lock_guard<std::mutex> lock(mutex_);
  blocked_.add(start_us, end_us);
}

void LatencyMeter::frame_ready(const FrameTimes& times, int64_t waited_upstream_us) {
  const std::lock_guard<std::mutex> lock(mutex_);
  // The frame could have left as soon as it and all frames before it were done.
  const int64_t ready = std::max(times.finished, last_ready_);
  last_ready_ = ready;
  const int64_t kept = ready - times.arrived - blocked_.within(times.arrived, times.admitted);
  longest_kept_ = std::max(longest_kept_, kept);
  // A frame waits at our doors (dvconvert's and dvinfer's) and in a queue of one before them for as
  // long as the frames before it are kept. A longer queue is its owner's concern.
  const int64_t doors = 2 * longest_kept_;
  const int64_t before = std::min(
      doors, std::min(waited_upstream_us,
                      occupied_.within(times.arrived - waited_upstream_us, times.arrived)));
  grow(kept + std::max<int64_t>(0, before));
}

void LatencyMeter::estimate(int64_t microseconds) {
  const std::lock_guard<std::mutex> lock(mutex_);
  grow(microseconds);
}

void LatencyMeter::grow(int64_t microseconds) {
  if (microseconds <= reported_us_) return;
  reported_us_ = microseconds + microseconds * kHeadroomPercent / 100 + kHeadroomUs;
  grown_ = true;
}

GstClockTime LatencyMeter::reported() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return static_cast<GstClockTime>(reported_us_) * GST_USECOND;
}

bool LatencyMeter::take_growth() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::exchange(grown_, false);
}

}  // namespace dvnn::gst
