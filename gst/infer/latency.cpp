// SPDX-License-Identifier: Apache-2.0
#include "infer/latency.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace dvnn::gst {
namespace {

constexpr size_t kMaxSpans = 512;
// Margin added to the measured latency, so that ordinary jitter does not make the pipeline
// recompute its latency again and again.
constexpr int64_t kHeadroomPercent = 15;
constexpr int64_t kHeadroomUs = 1000;
// One frame in kFewOf may exceed the reported latency, beside those of one hiccup.
constexpr size_t kFewOf = 50;
// Among the first frames only one in kOneIn may count as an outlier, so that a slow network is
// noticed at once.
constexpr size_t kOneIn = 4;
// Number of frames from which measurements replace the estimate.
constexpr size_t kEnough = 64;

int64_t with_headroom(int64_t us) {
  return us > 0 ? us + us * kHeadroomPercent / 100 + kHeadroomUs : 0;
}

}  // namespace

void LastValues::add(int64_t value) {
  values_[next_] = value;
  next_ = (next_ + 1) % kMost;
  count_ = std::min(count_ + 1, kMost);
}

int64_t LastValues::largest_but(size_t outliers) const {
  if (count_ <= outliers) return 0;
  std::array<int64_t, kMost> sorted;
  const auto end = std::copy_n(values_.begin(), count_, sorted.begin());
  const auto nth = sorted.begin() + static_cast<std::ptrdiff_t>(outliers);
  std::nth_element(sorted.begin(), nth, end, std::greater<>());
  return *nth;
}

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
  kept_.clear();
  stays_.clear();
  last_ready_ = usually_kept_ = estimate_us_ = reported_us_ = 0;
  low_ = 0;
  changed_ = false;
}

void LatencyMeter::set_capacity(size_t frames) {
  const std::lock_guard<std::mutex> lock(mutex_);
  capacity_ = frames;
}

void LatencyMeter::occupied(int64_t start_us, int64_t end_us) {
  const std::lock_guard<std::mutex> lock(mutex_);
  // Downstream caused this wait, by way of us, so it does not count as ours.
  if (2 * blocked_.within(start_us, end_us) > end_us - start_us) return;
  occupied_.add(start_us, end_us);
}

void LatencyMeter::blocked(int64_t start_us, int64_t end_us) {
  const std::lock_guard<std::mutex> lock(mutex_);
  blocked_.add(start_us, end_us);
}

size_t LatencyMeter::outliers(size_t count) const {
  return std::min(capacity_ + count / kFewOf, count / kOneIn);
}

void LatencyMeter::frame_ready(const FrameTimes& times, int64_t waited_upstream_us) {
  const std::lock_guard<std::mutex> lock(mutex_);
  // The frame could have left as soon as it and all frames before it were done.
  const int64_t ready = std::max(times.finished, last_ready_);
  last_ready_ = ready;
  if (times.started == 0) return;
  const int64_t kept = ready - times.arrived - blocked_.within(times.arrived, times.admitted);
  kept_.add(kept);
  usually_kept_ = kept_.largest_but(outliers(kept_.count()));
  // A frame waits at our doors (dvconvert's and dvinfer's) and in a queue of one before them for as
  // long as the frames before it are kept. A longer queue is its owner's concern.
  const int64_t doors = 2 * usually_kept_;
  const int64_t before = std::min(
      doors, std::min(waited_upstream_us,
                      occupied_.within(times.arrived - waited_upstream_us, times.arrived)));
  stays_.add(kept + std::max<int64_t>(0, before));
  settle();
}

void LatencyMeter::estimate(int64_t microseconds) {
  const std::lock_guard<std::mutex> lock(mutex_);
  estimate_us_ = microseconds;
  settle();
}

int64_t LatencyMeter::usual() const {
  const int64_t measured = stays_.largest_but(outliers(stays_.count()));
  return stays_.count() < kEnough ? std::max(estimate_us_, measured) : measured;
}

// Compares what is reported with what the last frames needed.
void LatencyMeter::settle() {
  const int64_t needed = usual();
  if (needed > reported_us_) {
    reported_us_ = with_headroom(needed);
    low_ = 0;
    changed_ = true;
    return;
  }
  low_ = 2 * with_headroom(needed) < reported_us_ ? low_ + 1 : 0;
  // Announced once: a pipeline that does not query after that does not need the new value.
  if (low_ == LastValues::kMost) changed_ = true;
}

GstClockTime LatencyMeter::reported() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return static_cast<GstClockTime>(reported_us_) * GST_USECOND;
}

GstClockTime LatencyMeter::answer() {
  const std::lock_guard<std::mutex> lock(mutex_);
  // Lower the latency only if it falls a lot, because each change makes the picture jump.
  const int64_t enough = with_headroom(usual());
  if (stays_.count() >= kEnough && enough < reported_us_ / 4 * 3) {
    reported_us_ = enough;
    low_ = 0;
  }
  return static_cast<GstClockTime>(reported_us_) * GST_USECOND;
}

bool LatencyMeter::take_change() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::exchange(changed_, false);
}

}  // namespace dvnn::gst
