// SPDX-License-Identifier: Apache-2.0
#include "infer/admission.h"

#include <algorithm>

namespace dvnn::gst {

// Tolerance for rounded times: at 30 frames per second the sixth frame comes at 199.999998 ms.
static constexpr GstClockTime kRounding = GST_MSECOND;

void Admission::set_rules(const AdmissionRules& rules) {
  const std::lock_guard<std::mutex> lock(mutex_);
  rules_ = rules;
}

AdmissionRules Admission::rules() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return rules_;
}

void Admission::reset() {
  const std::lock_guard<std::mutex> lock(mutex_);
  earliest_ = asked_ = inferred_ = next_ = GST_CLOCK_TIME_NONE;
  inferred_before_ = next_before_ = GST_CLOCK_TIME_NONE;
  frames_ = frames_before_ = 0;
}

void Admission::set_earliest(GstClockTime running_time, double proportion) {
  const std::lock_guard<std::mutex> lock(mutex_);
  earliest_ = running_time;
  proportion_ = proportion;
}

GstClockTime Admission::earliest() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return earliest_;
}

double Admission::proportion() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return proportion_;
}

// Returns whether the rules of frequency let this frame be inferred; if so, it counts as inferred.
bool Admission::is_due(GstClockTime time) {
  const bool first = !GST_CLOCK_TIME_IS_VALID(inferred_) && frames_ == 0;
  if (!first && frames_ + 1 < rules_.interval_frames) {
    ++frames_;
    return false;
  }
  if (GST_CLOCK_TIME_IS_VALID(time)) {
    // A time that runs backwards belongs to another stream.
    const bool known = GST_CLOCK_TIME_IS_VALID(inferred_) && time >= inferred_;
    if (known && rules_.interval > 0 && time - inferred_ + kRounding < rules_.interval)
      return false;
    if (rules_.max_rate > 0) {
      constexpr double kLongest = 1e15;  // nanoseconds, 11 days: well within a GstClockTime
      const auto period = static_cast<GstClockTime>(
          std::min(static_cast<double>(GST_SECOND) / rules_.max_rate, kLongest));
      if (known && GST_CLOCK_TIME_IS_VALID(next_) && time < next_) return false;
      // The next due time counts from the last due time and not from the frame's, so that the
      // average is the rate; missed frames are not made up for.
      const bool behind = !known || !GST_CLOCK_TIME_IS_VALID(next_) || time >= next_ + period;
      next_ = (behind ? time : next_) + period;
    }
    inferred_ = time;
  }
  frames_ = 0;
  return true;
}

Verdict Admission::ask(GstClockTime time) {
  if (GST_CLOCK_TIME_IS_VALID(time) && time == asked_) return told_;
  asked_ = time;
  told_ = Verdict::kPass;
  if (!rules_.active) return told_;
  if (rules_.qos && GST_CLOCK_TIME_IS_VALID(earliest_) && GST_CLOCK_TIME_IS_VALID(time) &&
      time <= earliest_) {
    return told_ = Verdict::kLate;
  }
  inferred_before_ = inferred_, next_before_ = next_, frames_before_ = frames_;
  if (is_due(time)) told_ = Verdict::kInfer;
  return told_;
}

// Takes back the admission of the frame at `time`, because the network is busy: another frame may
// take its turn.
void Admission::withdraw(GstClockTime time) {
  if (!GST_CLOCK_TIME_IS_VALID(time) || time != asked_ || told_ != Verdict::kInfer) return;
  told_ = Verdict::kPass;
  inferred_ = inferred_before_, next_ = next_before_;
  frames_ = std::min(frames_before_ + 1, rules_.interval_frames);
}

Verdict Admission::decide(GstClockTime time, bool busy, bool admitted) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const Verdict verdict = admitted && !GST_CLOCK_TIME_IS_VALID(time) ? Verdict::kInfer : ask(time);
  if (verdict != Verdict::kInfer || !busy || rules_.when_busy != WhenBusy::kPass) return verdict;
  withdraw(time);
  return Verdict::kPass;
}

}  // namespace dvnn::gst
