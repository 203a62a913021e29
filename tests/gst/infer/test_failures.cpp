// SPDX-License-Identifier: Apache-2.0
// Devices that fail or hang, and frames that cannot be converted.
#include <algorithm>
#include <atomic>

#include "fault_device.h"
#include "grid_network.h"
#include "network/dvn_file.h"
#include "waiting.h"
#include "watched_suite.h"

namespace dvnn::test::failures_tests {

DVNN_WATCHED_SUITE(gst_failures);

namespace {

constexpr int kFrames = 30;
constexpr int kEndless = 1000000;
const char* const kSink = " ! dvdecode ! fakesink name=out async=false";

// Every third frame has too few bytes.
GstPadProbeReturn shorten_probe(GstPad*, GstPadProbeInfo* info, gpointer) {
  GstBuffer* buffer = GST_PAD_PROBE_INFO_BUFFER(info);
  if (GST_BUFFER_OFFSET(buffer) % 3 == 2) {
    GstBuffer* cut = gst_buffer_new_allocate(nullptr, 100, nullptr);
    gst_buffer_memset(cut, 0, 0, 100);
    GST_BUFFER_PTS(cut) = GST_BUFFER_PTS(buffer);
    GST_BUFFER_DURATION(cut) = GST_BUFFER_DURATION(buffer);
    gst_buffer_unref(buffer);
    GST_PAD_PROBE_INFO_DATA(info) = cut;
  }
  return GST_PAD_PROBE_OK;
}

void shorten_frames(Pipeline* pipeline) {
  GstPad* pad = gst_element_get_static_pad((*pipeline)["cut"], "src");
  gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, shorten_probe, nullptr, nullptr);
  gst_object_unref(pad);
}

const char* const kHeads[] = {"dvconvert ! ", "", "dvconvert ! queue ! ", "queue ! "};

bool is_short(size_t number) {
  return number % 3 == 2;
}

guint64 stat(Pipeline* pipeline, const char* field) {
  GstStructure* stats = nullptr;
  guint64 value = G_MAXUINT64;
  g_object_get((*pipeline)["infer"], "stats", &stats, nullptr);
  if (stats) {
    gst_structure_get_uint64(stats, field, &value);
    gst_structure_free(stats);
  }
  return value;
}

}  // namespace

DVNN_TEST(frames_that_cannot_be_converted_pass_without_results_if_asked) {
  for (const char* head : kHeads) {
    Pipeline pipeline(painted_source(kFrames) + "identity name=cut ! " + head +
                      infer(Looks::kRed, "name=infer on-error=pass") + kSink);
    shorten_frames(&pipeline);
    demand(&pipeline, pipeline.play_to_end());
    const std::vector<Arrival> arrivals = pipeline.arrivals();
    demand(&pipeline, pipeline.stop());
    ck_assert_uint_eq(arrivals.size(), kFrames);
    for (size_t i = 0; i < arrivals.size(); ++i) {
      ck_assert_int_eq(arrivals[i].passes.inferred, is_short(i) ? 0 : 1);
      if (is_short(i)) {
        ck_assert(arrivals[i].found.empty());
      } else {
        expect_boxes_of_pixels({arrivals[i]}, 1, head);
      }
    }
    ck_assert_uint_ge(pipeline.count_messages(GST_MESSAGE_WARNING), 1);
  }
}

DVNN_TEST(frames_that_cannot_be_converted_are_dropped_if_asked) {
  for (const char* head : kHeads) {
    Pipeline pipeline(painted_source(kFrames) + "identity name=cut ! " + head +
                      infer(Looks::kRed, "name=infer on-error=drop") + kSink);
    shorten_frames(&pipeline);
    demand(&pipeline, pipeline.play_to_end());
    const std::vector<Arrival> arrivals = pipeline.arrivals();
    const guint64 dropped = stat(&pipeline, "dropped");
    demand(&pipeline, pipeline.stop());
    expect_boxes_of_pixels(arrivals, kFrames * 2 / 3, head);
    ck_assert_uint_eq(dropped, kFrames / 3);
    ck_assert_uint_ge(pipeline.count_messages(GST_MESSAGE_WARNING), 1);
  }
}

DVNN_TEST(frames_that_cannot_be_converted_are_an_error_otherwise) {
  for (const char* head : kHeads) {
    Pipeline pipeline(painted_source(kFrames) + "identity name=cut ! " + head +
                      infer(Looks::kRed, "name=infer") + kSink);
    shorten_frames(&pipeline);
    const bool ended = pipeline.play_to_end();
    const std::string problem = pipeline.problem();
    pipeline.stop();
    ck_assert(!ended);
    ck_assert_msg(problem.find("100 bytes") != std::string::npos, "%s", problem.c_str());
  }
}

DVNN_TEST(runs_that_fail_are_handled_as_asked) {
  FaultPlan faults("");
  for (const char* on_error : {"pass", "drop"}) {
    for (const char* fault : {"fail", "refuse"}) {
      Pipeline pipeline(painted_source(kFrames) + "dvconvert ! " +
                        infer(Looks::kRed, std::string("name=infer on-error=") + on_error + " " +
                                               FaultPlan::device()) +
                        kSink);
      demand(&pipeline, pipeline.set_state(GST_STATE_PAUSED));
      faults.set(std::string("exec:3:") + fault + ",exec:7:" + fault);
      demand(&pipeline, pipeline.play_to_end());
      const std::vector<Arrival> arrivals = pipeline.arrivals();
      demand(&pipeline, pipeline.stop());
      std::vector<Arrival> inferred;
      for (const Arrival& arrival : arrivals) {
        if (arrival.passes.inferred) inferred.push_back(arrival);
      }
      const bool pass = std::string(on_error) == "pass";
      ck_assert_uint_eq(arrivals.size(), pass ? kFrames : kFrames - 2);
      expect_boxes_of_pixels(inferred, kFrames - 2, pipeline.description());
      ck_assert_uint_ge(pipeline.count_messages(GST_MESSAGE_WARNING), 1);
      ck_assert_msg(pipeline.messages().size() > 0, "no warning");
    }
  }
}

DVNN_TEST(a_run_that_fails_is_an_error_that_names_the_device) {
  FaultPlan faults("");
  Pipeline pipeline(painted_source(kEndless) + "dvconvert ! " +
                    infer(Looks::kRed, FaultPlan::device()) + kSink);
  demand(&pipeline, pipeline.set_state(GST_STATE_PAUSED));
  faults.set("exec:5:fail");
  const bool ended = pipeline.play_to_end();
  const std::string problem = pipeline.problem();
  pipeline.stop();
  ck_assert(!ended);
  ck_assert_msg(problem.find("fails as planned") != std::string::npos, "%s", problem.c_str());
}

DVNN_TEST(memory_that_cannot_change_hands_is_an_error) {
  for (const char* call : {"to_device", "to_cpu"}) {
    FaultPlan faults("");
    Pipeline pipeline(painted_source(20) + "dvconvert ! " +
                      infer(Looks::kRed, FaultPlan::device()) + kSink);
    demand(&pipeline, pipeline.set_state(GST_STATE_PAUSED));
    faults.set(std::string(call) + ":*:fail");
    const bool ended = pipeline.play_to_end();
    const std::string problem = pipeline.problem();
    pipeline.stop();
    ck_assert_msg(!ended, "%s: nobody has noticed", call);
    ck_assert_msg(problem.find("fails as planned") != std::string::npos, "%s: %s", call,
                  problem.c_str());
  }
}

// All weights of one layer are the largest number of 16 bits, so that sums of two exceed it.
DVNN_TEST(results_that_are_not_finite_are_told_once) {
  dvnn::network::Model model = grid_network();
  const dvnn::network::Step& step = model.steps[1];
  ck_assert_str_eq(step.name.c_str(), "loc_map");
  constexpr uint8_t kLargest[] = {0xff, 0x7b};
  for (size_t i = step.command.runs[0].weight_offset; i < model.weights.size(); ++i) {
    model.weights[i] = kLargest[i % 2];
  }
  const std::string path = "/tmp/dvnn-not-finite-" + std::to_string(getpid()) + ".dvn";
  ck_assert(dvnn::network::write_dvn(model, path).ok());
  Pipeline pipeline(painted_source(kFrames) + "dvconvert ! dvinfer device=soft network=" + path +
                    kSink);
  const bool ended = pipeline.play_to_end();
  pipeline.stop();
  unlink(path.c_str());
  demand(&pipeline, ended);
  size_t told = 0;
  for (const Message& message : pipeline.messages()) {
    if (message.type != GST_MESSAGE_WARNING) continue;
    told += message.text.find("not finite, first at layer 'loc_map'") != std::string::npos;
  }
  ck_assert_uint_eq(told, 1);
}

DVNN_TEST(the_watchdog_ends_a_run_that_never_does) {
  FaultPlan faults("");
  for (const char* on_error : {"error", "pass"}) {
    Pipeline pipeline(painted_source(kEndless) + "dvconvert ! " +
                      infer(Looks::kRed, std::string("watchdog-ms=300 on-error=") + on_error + " " +
                                             FaultPlan::device()) +
                      kSink);
    demand(&pipeline, pipeline.set_state(GST_STATE_PAUSED));
    faults.set("exec:5:hang");
    const bool error = std::string(on_error) == "error";
    std::string problem;
    bool failed = false;
    if (error) {
      failed = !pipeline.play_to_end();
      problem = pipeline.problem();
    } else {
      // The frame whose run hangs passes; those behind it, too.
      demand(&pipeline, pipeline.set_state(GST_STATE_PLAYING));
      failed = !pipeline.run_until([&] { return pipeline.count() > 20; }, "frames passed");
      problem = pipeline.problem();
    }
    faults.release();
    pipeline.stop();
    ck_assert_msg(failed == error, "on-error=%s: %s", on_error, problem.c_str());
    ck_assert_msg(problem.find("stalled") == std::string::npos, "%s", problem.c_str());
    if (!error) {
      size_t passed = 0;
      for (const Arrival& arrival : pipeline.arrivals()) passed += arrival.passes.inferred == 0;
      ck_assert_uint_ge(passed, 1);
    }
  }
}

DVNN_TEST(every_failing_call_at_the_start_is_an_error_and_leaves_nothing_behind) {
  FaultPlan faults("");
  for (const char* call : {"alloc", "list", "add", "commit", "map"}) {
    for (int n = 1; n < 60; ++n) {
      faults.set(std::string(call) + ":" + std::to_string(n) + ":fail");
      Pipeline pipeline(painted_source(3) + "dvconvert ! " +
                        infer(Looks::kRed, FaultPlan::device()) + kSink);
      const bool ended = pipeline.play_to_end();
      const std::string problem = pipeline.problem();
      const bool stopped = pipeline.stop();
      const bool reached = faults.count(call) >= n;
      faults.set("");
      demand(&pipeline, stopped);
      if (!reached) break;
      // Slots that are made when they are first needed may fail later, or never be needed.
      if (ended) continue;
      demand(&pipeline, problem.find("fails as planned") != std::string::npos,
             std::string(call) + " " + std::to_string(n) + ": " + problem);
    }
  }
}

// Slow is not dead: the watchdog's time is seconds.
DVNN_TEST(a_device_that_is_slow_to_load_is_waited_for) {
  FaultPlan faults("");
  faults.set("commit:*:delay=100");
  Pipeline pipeline(painted_source(3) + "dvconvert ! " + infer(Looks::kRed, FaultPlan::device()) +
                    kSink);
  demand(&pipeline, pipeline.play_to_end());
  demand(&pipeline, pipeline.stop());
  ck_assert_int_gt(faults.count("commit"), 0);
}

// A slot that comes back is taken again: no frame costs memory of its own.
DVNN_TEST(memory_of_the_device_is_made_once) {
  constexpr int kMany = 80;
  FaultPlan faults("");
  Pipeline pipeline(painted_source(kMany) + "dvconvert ! " +
                    infer(Looks::kRed, FaultPlan::device()) + kSink);
  demand(&pipeline, pipeline.play_to_end());
  demand(&pipeline, pipeline.stop());
  ck_assert_int_gt(faults.count("alloc"), 0);
  ck_assert_int_lt(faults.count("alloc"), kMany / 2);
}

// A device that does not answer until the pipeline is gone, if ever.

DVNN_TEST(null_returns_while_the_device_hangs_for_good) {
  Gate gone;  // the element
  {
    FaultPlan faults("");
    Pipeline pipeline(painted_source(1000000) + "dvconvert ! " +
                      infer(Looks::kRed, "name=infer watchdog-ms=300 " + FaultPlan::device()) +
                      " ! dvdecode ! fakesink name=out async=false");
    g_object_weak_ref(
        G_OBJECT(pipeline["infer"]),
        [](gpointer gate, GObject*) { static_cast<Gate*>(gate)->open(); }, &gone);
    demand(&pipeline, pipeline.set_state(GST_STATE_PAUSED));
    faults.set("exec:3:hang");
    const bool ended = pipeline.play_to_end();
    const bool stopped = pipeline.stop();  // the device still hangs
    const std::string problem = pipeline.problem();
    faults.release();
    ck_assert(!ended);
    ck_assert_msg(stopped, "%s", problem.c_str());
  }
  // Now that the device has answered, the thread that it held lets go of the element.
  gone.wait();
}

DVNN_TEST(a_pipeline_plays_again_when_the_device_is_back) {
  FaultPlan faults("");
  const std::string description = painted_source(30) + "dvconvert ! " +
                                  infer(Looks::kRed, "watchdog-ms=300 " + FaultPlan::device()) +
                                  " ! dvdecode ! fakesink name=out async=false";
  Pipeline pipeline(description);
  demand(&pipeline, pipeline.set_state(GST_STATE_READY));
  faults.set("exec:3+:hang");
  const bool ended = pipeline.play_to_end();
  const bool stopped = pipeline.stop();
  const std::string problem = pipeline.problem();
  faults.release();
  ck_assert(!ended);
  ck_assert_msg(stopped, "%s", problem.c_str());
  play_and_expect_boxes(description, 30);
}

}  // namespace dvnn::test::failures_tests
