// SPDX-License-Identifier: Apache-2.0
// Networks that all want all of a device: one with priority gets more of it, none starves, and
// frames still come out with their own results. How much more is said in time
// (test_device_turns.cpp): runs are counted here, and on a busy machine some take far longer.
#include "fault_device.h"
#include "watched_suite.h"

namespace dvnn::test::priority_tests {

DVNN_WATCHED_SUITE(gst_priority);

namespace {

struct Inferred {
  guint64 high, low;
  double ratio() const { return static_cast<double>(high) / static_cast<double>(low); }
};

Inferred count_of(Pipeline& pipeline) {
  return {stat_of(pipeline["high"], "inferred"), stat_of(pipeline["low"], "inferred")};
}

// Counts the runs of each during the next `runs` of both, once both are inferring.
Inferred share(Pipeline& pipeline, guint64 runs) {
  const Inferred begin = count_of(pipeline);
  demand(&pipeline, pipeline.run_until(
                        [&] {
                          const Inferred now = count_of(pipeline);
                          return now.high + now.low >= begin.high + begin.low + runs;
                        },
                        "the device went on"));
  const Inferred end = count_of(pipeline);
  return {end.high - begin.high, end.low - begin.low};
}

std::string stream(const std::string& name, Looks looks, int priority, const std::string& sink,
                   int in_flight = 6) {
  return painted_source(100000, "", "src_" + name) + "dvconvert ! " +
         infer(looks, "name=" + name + " max-in-flight=" + std::to_string(in_flight) +
                          " priority=" + std::to_string(priority) + " " + FaultPlan::device()) +
         " ! dvdecode ! fakesink name=" + sink + " async=false ";
}

}  // namespace

DVNN_TEST(who_has_priority_gets_more) {
  FaultPlan faults("");
  Pipeline pipeline(stream("high", Looks::kRed, 30, "out") +
                    stream("low", Looks::kBlue, 10, "blue"));
  demand(&pipeline, pipeline.set_state(GST_STATE_READY));
  faults.set("exec:*:delay=4");
  demand(&pipeline, pipeline.set_state(GST_STATE_PLAYING));
  share(pipeline, 40);
  ck_assert_double_gt(share(pipeline, 240).ratio(), 1.5);
  // It may change while playing.
  g_object_set(pipeline["high"], "priority", 10, nullptr);
  g_object_set(pipeline["low"], "priority", 20, nullptr);
  share(pipeline, 40);
  ck_assert_double_lt(share(pipeline, 240).ratio(), 0.8);
  demand(&pipeline, pipeline.stop());
  for (const char* sink : {"out", "blue"}) {
    const std::vector<Arrival> arrivals = pipeline.arrivals(sink);
    expect_boxes_of_pixels(arrivals, arrivals.size(), sink);
  }
}

// Two streams that have ten times the priority leave no gaps between them, and a third one waits
// with one frame at a time. Fair is a turn of 21 for it, nearly 29 of 600. Who is left out goes
// ahead without a turn after two seconds' patience: those do not count.
DVNN_TEST(nobody_starves_where_others_leave_no_gaps) {
  FaultPlan faults("");
  Pipeline pipeline(stream("high", Looks::kRed, 10, "out") +
                    stream("other", Looks::kRed, 10, "out_other") +
                    stream("low", Looks::kBlue, 1, "blue", 1));
  demand(&pipeline, pipeline.set_state(GST_STATE_READY));
  faults.set("exec:*:delay=8");
  demand(&pipeline, pipeline.set_state(GST_STATE_PLAYING));
  share(pipeline, 40);
  const gint64 start = g_get_monotonic_time();
  const guint64 low = share(pipeline, 300).low;  // and as many of the other's
  constexpr double kPatience = 2e6;              // DeviceTurns::kPatience, in microseconds
  const double unasked = static_cast<double>(g_get_monotonic_time() - start) / kPatience;
  ck_assert_double_gt(static_cast<double>(low), 4 + unasked);
  demand(&pipeline, pipeline.stop());
}

}  // namespace dvnn::test::priority_tests
