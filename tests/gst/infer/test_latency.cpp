// SPDX-License-Identifier: Apache-2.0
#include "infer/latency.h"

#include "check_suite.h"

namespace dvnn::test::latency_tests {

using namespace dvnn::gst;

namespace {

constexpr int64_t kMs = 1000;

FrameTimes times(int64_t arrived, int64_t admitted, int64_t finished) {
  FrameTimes t;
  t.arrived = arrived * kMs;
  t.admitted = t.started = admitted * kMs;
  t.finished = finished * kMs;
  return t;
}

double reported_ms(const LatencyMeter& meter) {
  return static_cast<double>(meter.reported()) / GST_MSECOND;
}

}  // namespace

START_TEST(the_worst_frame_counts_and_it_never_falls) {
  LatencyMeter meter;
  meter.frame_ready(times(0, 0, 50), 0);
  ck_assert_double_ge(reported_ms(meter), 50);
  ck_assert(meter.take_growth());
  const double before = reported_ms(meter);
  meter.frame_ready(times(100, 100, 110), 0);
  ck_assert_double_eq(reported_ms(meter), before);
  ck_assert(!meter.take_growth());
  meter.frame_ready(times(200, 260, 300), 0);
  ck_assert_double_ge(reported_ms(meter), 100);
  ck_assert(meter.take_growth());
}
END_TEST

START_TEST(a_frame_waits_for_those_before_it) {
  LatencyMeter meter;
  meter.frame_ready(times(0, 0, 100), 0);
  // Done early, but it may not overtake.
  meter.frame_ready(times(10, 10, 20), 0);
  ck_assert_double_lt(reported_ms(meter), 120);
  LatencyMeter other;
  other.frame_ready(times(90, 90, 100), 0);
  other.frame_ready(times(10, 10, 20), 0);
  ck_assert_double_ge(reported_ms(other), 90);
}
END_TEST

START_TEST(waiting_for_a_slow_sink_is_not_ours) {
  LatencyMeter meter;
  meter.blocked(0, 500 * kMs);
  meter.frame_ready(times(10, 500, 510), 0);
  ck_assert_double_lt(reported_ms(meter), 30);
}
END_TEST

START_TEST(a_long_queue_upstream_is_its_owners) {
  LatencyMeter meter;
  meter.occupied(0, 10000 * kMs);
  meter.frame_ready(times(10000, 10000, 10100), 9000 * kMs);
  ck_assert_double_lt(reported_ms(meter), 400);
}
END_TEST

START_TEST(waiting_upstream_counts_as_far_as_we_kept_upstream_busy) {
  LatencyMeter idle;
  // Late for some other reason, a slow start of the camera say.
  idle.frame_ready(times(1000, 1000, 1010), 900 * kMs);
  ck_assert_double_lt(reported_ms(idle), 30);
  LatencyMeter busy;
  busy.occupied(800 * kMs, 1000 * kMs);
  busy.frame_ready(times(1000, 1100, 1200), 900 * kMs);
  ck_assert_double_ge(reported_ms(busy), 400);
  ck_assert_double_lt(reported_ms(busy), 500);
  LatencyMeter blocked;
  // We kept upstream busy because downstream kept us.
  blocked.blocked(790 * kMs, 1000 * kMs);
  blocked.occupied(800 * kMs, 1000 * kMs);
  blocked.frame_ready(times(1000, 1000, 1010), 900 * kMs);
  ck_assert_double_lt(reported_ms(blocked), 30);
}
END_TEST

DVNN_SUITE(latency, the_worst_frame_counts_and_it_never_falls, a_frame_waits_for_those_before_it,
           waiting_for_a_slow_sink_is_not_ours, a_long_queue_upstream_is_its_owners,
           waiting_upstream_counts_as_far_as_we_kept_upstream_busy)

}  // namespace dvnn::test::latency_tests
