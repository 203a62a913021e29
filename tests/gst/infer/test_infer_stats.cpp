// SPDX-License-Identifier: Apache-2.0
// dvinfer's numbers, as Prometheus and programs read them.
#include <gst/gst.h>

#include <random>
#include <string>
#include <vector>

#include "check_suite.h"
#include "infer/inferstats.h"
#include "refs.h"

namespace dvnn::test::infer_stats_tests {

DVNN_SUITE(infer_stats);

using dvnn::gst::InferStats;
using dvnn::gst::StructurePtr;

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

}  // namespace dvnn::test::infer_stats_tests
