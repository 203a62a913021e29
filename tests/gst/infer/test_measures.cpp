// SPDX-License-Identifier: Apache-2.0
// What dvinfer measures: its latency, and its numbers, as Prometheus and programs read them.
#include <gst/gst.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "check_suite.h"
#include "infer/inferstats.h"
#include "infer/latency.h"
#include "refs.h"

namespace dvnn::test::measures_tests {

DVNN_SUITE(measures);

using namespace dvnn::gst;

namespace {

constexpr int64_t kMs = 1000;

FrameTimes times(int64_t arrived, int64_t admitted, int64_t finished) {
  FrameTimes t;
  t.arrived = arrived * kMs;
  t.admitted = admitted * kMs;
  t.started = std::max<int64_t>(1, t.admitted);  // 0 would be: never
  t.finished = finished * kMs;
  return t;
}

double reported_ms(const LatencyMeter& meter) {
  return static_cast<double>(meter.reported()) / GST_MSECOND;
}

}  // namespace

DVNN_TEST(the_first_frames_that_take_longer_count_at_once) {
  LatencyMeter meter;
  meter.frame_ready(times(0, 0, 50), 0);
  ck_assert_double_ge(reported_ms(meter), 50);
  ck_assert(meter.take_change());
  const double before = reported_ms(meter);
  meter.frame_ready(times(100, 100, 110), 0);
  ck_assert_double_eq(reported_ms(meter), before);
  ck_assert(!meter.take_change());
  meter.frame_ready(times(200, 260, 300), 0);
  ck_assert_double_ge(reported_ms(meter), 100);
  ck_assert(meter.take_change());
}

// Plays frames that come every 40 ms from frame `first` on and take `took` each.
int play(LatencyMeter* meter, int first, int count, int64_t took) {
  for (int i = first; i < first + count; ++i) {
    meter->frame_ready(times(40 * i, 40 * i, 40 * i + took), 0);
  }
  return first + count;
}

// The process is stopped for two seconds: frames that are held then are late, and no others.
DVNN_TEST(one_hiccup_does_not_count) {
  LatencyMeter meter;
  constexpr int kHeld = 5;
  meter.set_capacity(kHeld);
  int frames = play(&meter, 0, 150, 30);
  ck_assert(meter.take_change());
  const double before = reported_ms(meter);
  const int64_t goes_on = 40 * frames + 2000;
  for (int i = 0; i < kHeld; ++i, ++frames) {
    meter.frame_ready(times(40 * frames, 40 * frames, goes_on + i), 2000 * kMs);
  }
  frames = play(&meter, frames + 50, 600, 30);
  ck_assert_double_eq(reported_ms(meter), before);
  ck_assert(!meter.take_change());
}

// A network that now needs that long is slower than it was, and not the machine.
DVNN_TEST(what_happens_again_and_again_counts) {
  LatencyMeter meter;
  meter.set_capacity(5);
  int frames = play(&meter, 0, 200, 30);
  for (int i = 0; i < 20; ++i) {
    frames = play(&meter, frames, 9, 30);
    frames = play(&meter, frames, 1, 200) + 5;
  }
  ck_assert_double_ge(reported_ms(meter), 200);
  ck_assert_double_le(reported_ms(meter), 240);
}

DVNN_TEST(it_falls_where_the_pipeline_asks_and_is_told_to_ask_once) {
  LatencyMeter meter;
  meter.estimate(400 * kMs);
  ck_assert_double_ge(reported_ms(meter), 400);
  ck_assert(meter.take_change());
  int frames = play(&meter, 0, 60, 300);
  // Without a latency query it stays; the next query is answered with the need up to now.
  frames = play(&meter, frames + 10, 100, 30);
  ck_assert_double_ge(reported_ms(meter), 400);
  ck_assert_double_ge(static_cast<double>(meter.answer()) / GST_MSECOND, 300);
  ck_assert(!meter.take_change());
  int told = 0;
  for (int i = 0; i < 2000; ++i) {
    frames = play(&meter, frames, 1, 30);
    told += meter.take_change() ? 1 : 0;
  }
  ck_assert_int_eq(told, 1);
  ck_assert_double_ge(reported_ms(meter), 300);
  const double asked = static_cast<double>(meter.answer()) / GST_MSECOND;
  ck_assert_double_ge(asked, 30);
  ck_assert_double_lt(asked, 40);
  ck_assert_double_eq(asked, reported_ms(meter));
  // Jitter is worth no jump.
  play(&meter, frames, 600, 27);
  ck_assert_double_eq(static_cast<double>(meter.answer()) / GST_MSECOND, asked);
}

DVNN_TEST(frames_without_a_run_do_not_count) {
  LatencyMeter meter;
  play(&meter, 0, 10, 100);
  const double before = reported_ms(meter);
  for (int i = 0; i < 1000; ++i) {
    FrameTimes passed = times(1000 + 40 * i, 1000 + 40 * i, 1000 + 40 * i);
    passed.started = 0;
    meter.frame_ready(passed, 0);
  }
  ck_assert_double_eq(static_cast<double>(meter.answer()) / GST_MSECOND, before);
}

DVNN_TEST(a_frame_waits_for_those_before_it) {
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

DVNN_TEST(waiting_for_a_slow_sink_is_not_ours) {
  LatencyMeter meter;
  meter.blocked(0, 500 * kMs);
  meter.frame_ready(times(10, 500, 510), 0);
  ck_assert_double_lt(reported_ms(meter), 30);
}

DVNN_TEST(a_long_queue_upstream_is_its_owners) {
  LatencyMeter meter;
  meter.occupied(0, 10000 * kMs);
  meter.frame_ready(times(10000, 10000, 10100), 9000 * kMs);
  ck_assert_double_lt(reported_ms(meter), 400);
}

DVNN_TEST(waiting_upstream_counts_as_far_as_we_kept_upstream_busy) {
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

namespace {

const GstStructure* inner(const GstStructure* fields, const char* name) {
  return gst_value_get_structure(gst_structure_get_value(fields, name));
}

guint64 natural(const GstStructure* fields, const char* name) {
  guint64 value = 0;
  ck_assert(gst_structure_get_uint64(fields, name, &value));
  return value;
}

double real(const GstStructure* fields, const char* name) {
  double value = 0;
  ck_assert(gst_structure_get_double(fields, name, &value));
  return value;
}

}  // namespace

// Each bound's number is that of the shorter times, counted one by one; count and sum are exact.
DVNN_TEST(buckets_count_what_is_shorter) {
  gst_init(nullptr, nullptr);
  std::mt19937 random(std::random_device{}());
  std::vector<int64_t> times = {0, 1, 511, 512, 513, 1023, 1024, 8388607, 8388608, 1000000000};
  for (int i = 0; i < 2000; ++i) times.push_back(static_cast<int64_t>(random() >> (random() % 32)));
  InferStats stats;
  double sum = 0;
  for (const int64_t time : times) {
    stats.time(InferStats::Time::kDevice, time);
    sum += static_cast<double>(time);
  }
  const StructurePtr all(stats.to_structure());
  const GstStructure* device = inner(all.get(), "device");
  ck_assert_uint_eq(natural(device, "count"), times.size());
  ck_assert_double_eq_tol(real(device, "sum"), sum / 1000, sum * 1e-9);
  const GstStructure* buckets = inner(device, "buckets");
  ck_assert_int_eq(gst_structure_n_fields(buckets), 15);
  for (int64_t bound = 512; bound <= 8388608; bound *= 2) {
    guint64 shorter = 0;
    for (const int64_t time : times) shorter += time < bound;
    ck_assert_uint_eq(natural(buckets, ("us-" + std::to_string(bound)).c_str()), shorter);
  }
}

// The device's share of what ran falls when its layers on the CPU turn out to be long; the time
// that was told does not.
DVNN_TEST(busy_seconds_never_fall) {
  gst_init(nullptr, nullptr);
  InferStats stats;
  stats.run_begins();
  stats.time(InferStats::Time::kDevice, 1000);
  double before = 0;
  for (int i = 0; i < 50; ++i) {
    const StructurePtr now(stats.to_structure());
    const double busy = real(now.get(), "device-busy-seconds");
    ck_assert_double_ge(busy, before);
    before = busy;
    stats.time(InferStats::Time::kCpu, 1000000);
  }
  stats.run_ends(0);
  ck_assert_double_gt(before, 0);
}

}  // namespace dvnn::test::measures_tests
