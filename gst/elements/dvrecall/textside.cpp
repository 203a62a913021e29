// SPDX-License-Identifier: Apache-2.0
#include "elements/dvrecall/textside.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "times.h"

namespace dvnn::gst {
namespace {

// How long a cue without a duration is shown.
constexpr GstClockTime kUsualDuration = GST_SECOND;

}  // namespace

void TextSide::start() {
  const std::lock_guard<std::mutex> lock(mutex_);
  gst_segment_init(&segment_, GST_FORMAT_UNDEFINED);
  cues_.clear();
  reached_ = INT64_MIN;
  ended_ = flushing_ = false;
  runs_ = waits_ = true;
}

void TextSide::stop() {
  const std::lock_guard<std::mutex> lock(mutex_);
  runs_ = false;
  changed_.notify_all();
}

void TextSide::begin_stream() {
  const std::lock_guard<std::mutex> lock(mutex_);
  thread_ = std::this_thread::get_id();
  ended_ = false;
}

// A segment goes on where the one before it ends, so what it begins with is reached.
void TextSide::set_segment(const GstSegment& segment) {
  const std::lock_guard<std::mutex> lock(mutex_);
  thread_ = std::this_thread::get_id();
  segment_ = segment;
}

void TextSide::reach(int64_t time) {
  reached_ = std::max(reached_, time);
  changed_.notify_all();
}

bool TextSide::add(GstBuffer* buffer, std::string text) {
  const GstClockTime start = GST_BUFFER_PTS(buffer);
  if (!GST_CLOCK_TIME_IS_VALID(start)) return true;
  const GstClockTime duration =
      GST_BUFFER_DURATION_IS_VALID(buffer) ? GST_BUFFER_DURATION(buffer) : kUsualDuration;
  const std::lock_guard<std::mutex> lock(mutex_);
  thread_ = std::this_thread::get_id();
  int64_t first = 0, last = 0;
  if (start > GST_CLOCK_TIME_NONE - 1 - duration) return true;
  if (!signed_running_time(segment_, start, &first) ||
      !signed_running_time(segment_, start + duration, &last)) {
    return true;
  }
  // Of a stream that plays backwards, what begins later ends earlier.
  if (last < first) std::swap(first, last);
  const bool room = cues_.add({first, last, std::move(text)});
  reach(first);
  return room;
}

void TextSide::gap(GstClockTime time, GstClockTime duration) {
  const std::lock_guard<std::mutex> lock(mutex_);
  thread_ = std::this_thread::get_id();
  if (GST_CLOCK_TIME_IS_VALID(duration) && time < GST_CLOCK_TIME_NONE - 1 - duration) {
    time += duration;
  }
  int64_t reached = 0;
  if (signed_running_time(segment_, time, &reached)) reach(reached);
}

void TextSide::end() {
  const std::lock_guard<std::mutex> lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

void TextSide::flush() {
  const std::lock_guard<std::mutex> lock(mutex_);
  gst_segment_init(&segment_, GST_FORMAT_UNDEFINED);
  cues_.clear();
  reached_ = INT64_MIN;
  ended_ = false;
  waits_ = true;
  changed_.notify_all();
}

void TextSide::set_flushing(bool flushing) {
  const std::lock_guard<std::mutex> lock(mutex_);
  flushing_ = flushing;
  changed_.notify_all();
}

bool TextSide::frames_come() {
  const std::lock_guard<std::mutex> lock(mutex_);
  frames_thread_ = std::this_thread::get_id();
  return thread_ == frames_thread_;
}

bool TextSide::frames_are_here() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return frames_thread_ == std::this_thread::get_id();
}

// A cue that starts no more than half a frame before the frame is its own.
bool TextSide::knows(int64_t start, int64_t half) {
  const bool there = reached_ > start + half || cues_.starts_within(start - half, start + half);
  if (there) waits_ = true;
  return there || !waits_ || ended_ || flushing_ || !runs_;
}

void TextSide::wait_for(int64_t start, int64_t half, std::chrono::milliseconds wait) {
  const Clock& clock = Clock::steady();
  std::unique_lock<std::mutex> lock(mutex_);
  waits_ = clock.wait_until(&changed_, &lock, clock.now() + wait, [&] {
    return knows(start, half);
  }) && waits_;
}

bool TextSide::is_known(int64_t start, int64_t half) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return knows(start, half);
}

void TextSide::give_up() {
  const std::lock_guard<std::mutex> lock(mutex_);
  waits_ = false;
}

CuePtr TextSide::take(int64_t start, int64_t half) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return cues_.at(start + half);
}

}  // namespace dvnn::gst
