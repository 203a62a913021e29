// SPDX-License-Identifier: Apache-2.0
// Two networks that both want all of a device: the one with priority gets more of it, neither
// starves, and frames still come out with their own results. How much more is said in time
// (test_device_turns.cpp): runs are counted here, and on a busy machine some take far longer.
#include "fault_plan.h"
#include "watched_suite.h"

using namespace dvnn::test;

namespace {

struct Inferred {
  guint64 high, low;
  double ratio() const { return static_cast<double>(high) / static_cast<double>(low); }
};

guint64 inferred(GstElement* infer) {
  GstStructure* stats = nullptr;
  g_object_get(infer, "stats", &stats, nullptr);
  guint64 count = 0;
  ck_assert(gst_structure_get_uint64(stats, "inferred", &count));
  gst_structure_free(stats);
  return count;
}

Inferred count_of(Pipeline& pipeline) {
  return {inferred(pipeline["high"]), inferred(pipeline["low"])};
}

// Runs during the next so many of both, once both are at it.
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

std::string stream(const std::string& name, Looks looks, int priority, const std::string& sink) {
  return painted_source(100000, "", "src_" + name) + "dvconvert ! " +
         infer(looks, "name=" + name + " max-in-flight=6 priority=" + std::to_string(priority) +
                          " " + FaultPlan::device()) +
         " ! dvdecode ! fakesink name=" + sink + " async=false ";
}

}  // namespace

START_TEST(who_has_priority_gets_more) {
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
  g_object_set(pipeline["low"], "priority", 1, nullptr);
  g_object_set(pipeline["high"], "priority", 40, nullptr);
  share(pipeline, 50);
  // Nobody starves: one of 300 turns at least. Three times that many, as turns are fair in time,
  // and one that a busy machine made long is made up for.
  ck_assert_uint_ge(share(pipeline, 900).low, 3);
  demand(&pipeline, pipeline.stop());
  for (const char* sink : {"out", "blue"}) {
    const std::vector<Arrival> arrivals = pipeline.arrivals(sink);
    expect_boxes_of_pixels(arrivals, arrivals.size(), sink);
  }
}
END_TEST

int main() {
  return run_watched_suite("gst_priority", {who_has_priority_gets_more});
}
