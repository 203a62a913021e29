// SPDX-License-Identifier: Apache-2.0
#include "infer/admission.h"

#include <vector>

#include "check_suite.h"

namespace dvnn::test::admission_tests {

DVNN_SUITE(admission);

using namespace dvnn::gst;

namespace {

constexpr GstClockTime kFrame = GST_SECOND / 30;

// Returns the times of the inferred ones among `frames` frames at 30 per second.
std::vector<GstClockTime> inferred(const AdmissionRules& rules, int frames) {
  Admission admission;
  admission.set_rules(rules);
  std::vector<GstClockTime> times;
  for (int i = 0; i < frames; ++i) {
    const GstClockTime time = static_cast<GstClockTime>(i) * kFrame;
    if (admission.decide(time) == Verdict::kInfer) times.push_back(time);
  }
  return times;
}

}  // namespace

DVNN_TEST(every_frame_is_inferred_by_default) {
  ck_assert_uint_eq(inferred({}, 100).size(), 100);
}

DVNN_TEST(none_is_inferred_while_inactive) {
  AdmissionRules rules;
  rules.active = false;
  ck_assert_uint_eq(inferred(rules, 100).size(), 0);
}

DVNN_TEST(an_interval_is_the_least_time_between_two) {
  AdmissionRules rules;
  rules.interval = 200 * GST_MSECOND;
  const std::vector<GstClockTime> times = inferred(rules, 300);
  // 10 s: a frame each 200 ms, which are 6 frames of the camera.
  ck_assert_uint_eq(times.size(), 50);
  for (size_t i = 1; i < times.size(); ++i) {
    // Times of frames are whole nanoseconds.
    ck_assert_uint_ge(times[i] - times[i - 1] + 6, rules.interval);
  }
}

DVNN_TEST(one_frame_of_so_many_is_inferred) {
  AdmissionRules rules;
  rules.interval_frames = 4;
  const std::vector<GstClockTime> times = inferred(rules, 100);
  ck_assert_uint_eq(times.size(), 25);
  for (size_t i = 0; i < times.size(); ++i) ck_assert_uint_eq(times[i], i * 4 * kFrame);
}

DVNN_TEST(the_highest_rate_is_an_average) {
  // 20 of 30 frames a second; an interval of 50 ms would give 15.
  AdmissionRules rules;
  rules.max_rate = 20;
  const size_t count = inferred(rules, 300).size();
  ck_assert_uint_ge(count, 199);
  ck_assert_uint_le(count, 201);
}

DVNN_TEST(asking_twice_about_a_frame_gives_the_same_answer) {
  AdmissionRules rules;
  rules.interval_frames = 3;
  Admission admission;
  admission.set_rules(rules);
  for (int i = 0; i < 30; ++i) {
    const GstClockTime time = static_cast<GstClockTime>(i) * kFrame;
    const Verdict first = admission.decide(time);
    ck_assert(admission.decide(time) == first);
    ck_assert((first == Verdict::kInfer) == (i % 3 == 0));
  }
}

DVNN_TEST(a_frame_that_found_no_room_leaves_its_turn_to_the_next) {
  AdmissionRules rules;
  rules.interval = GST_SECOND;
  rules.when_busy = WhenBusy::kPass;
  Admission admission;
  admission.set_rules(rules);
  ck_assert(admission.decide(0) == Verdict::kInfer);
  ck_assert(admission.decide(0, true) == Verdict::kPass);
  ck_assert(admission.decide(0) == Verdict::kPass);
  ck_assert(admission.decide(kFrame) == Verdict::kInfer);
  ck_assert(admission.decide(2 * kFrame) == Verdict::kPass);
}

DVNN_TEST(frames_up_to_the_earliest_time_are_late) {
  Admission admission;
  admission.set_earliest(GST_SECOND, 1.5);
  ck_assert(admission.decide(GST_SECOND) == Verdict::kLate);
  ck_assert(admission.decide(GST_SECOND + 1) == Verdict::kInfer);
  AdmissionRules rules;
  rules.qos = false;
  admission.set_rules(rules);
  ck_assert(admission.decide(GST_SECOND - 1) == Verdict::kInfer);
}

DVNN_TEST(a_new_stream_begins_with_an_inference) {
  AdmissionRules rules;
  rules.interval = 10 * GST_SECOND;
  Admission admission;
  admission.set_rules(rules);
  ck_assert(admission.decide(GST_SECOND) == Verdict::kInfer);
  ck_assert(admission.decide(2 * GST_SECOND) == Verdict::kPass);
  admission.reset();
  ck_assert(admission.decide(3 * GST_SECOND) == Verdict::kInfer);
  // Time that runs backwards is another stream's, too.
  ck_assert(admission.decide(0) == Verdict::kInfer);
}

}  // namespace dvnn::test::admission_tests
