// SPDX-License-Identifier: Apache-2.0
// dvinfer does what gstqueue does: ends of streams and new ones, branches that are not linked,
// flushes and changes of state in the middle of a wait.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "fault_device.h"
#include "waiting.h"
#include "watched_suite.h"

namespace dvnn::test::queue_rules_tests {

DVNN_WATCHED_SUITE(gst_queue_rules);

namespace {

constexpr int kFrames = 60;
constexpr int kEndless = 1000000;
const char* const kSink = " ! fakesink name=out async=false";

GstBuffer* frame_at(GstClockTime pts) {
  GstBuffer* buffer = grid_frame(64, 64, pts / GST_MSECOND);
  GST_BUFFER_PTS(buffer) = pts;
  return buffer;
}

void push_segment(GstHarness* h) {
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  gst_harness_push_event(h, gst_event_new_segment(&segment));
}

// Waits until nothing has moved for a while: somebody waits for something.
void settle(Pipeline* pipeline, const char* call, FaultPlan* faults) {
  demand(pipeline, pipeline->run_until([&] { return faults->hanging() > 0; }, call));
  size_t count = pipeline->count();
  for (int still = 0; still < 10;) {
    g_usleep(10000);
    const size_t now = pipeline->count();
    still = now == count ? still + 1 : 0;
    count = now;
  }
}

// Unlinks what follows the element while no frame is on its way through: what takes a frame down
// with it says FLUSHING upstream, and that rightly stops the source.
bool unlink_between_frames(Pipeline* pipeline, GstElement* element) {
  static std::atomic<bool> is_unlinked;
  is_unlinked = false;
  GstPad* pad = gst_element_get_static_pad(element, "src");
  gst_pad_add_probe(
      pad, GST_PAD_PROBE_TYPE_IDLE,
      [](GstPad* src, GstPadProbeInfo*, gpointer) {
        GstPad* peer = gst_pad_get_peer(src);
        gst_pad_unlink(src, peer);
        gst_object_unref(peer);
        is_unlinked = true;
        return GST_PAD_PROBE_REMOVE;
      },
      nullptr, nullptr);
  gst_object_unref(pad);
  return pipeline->run_until([] { return is_unlinked.load(); }, "no frame was on its way");
}

}  // namespace

DVNN_TEST(a_segment_after_a_downstream_eos_is_accepted_at_once) {
  constexpr int kRounds = 50;
  for (int round = 0; round < kRounds; ++round) {
    GstHarness* h = gst_harness_new_parse((infer() + " ! identity eos-after=3").c_str());
    gst_harness_set_src_caps_str(h, video_caps("RGB", 64, 64).c_str());
    GstFlowReturn flow = GST_FLOW_OK;
    for (guint i = 0; i < 1000 && flow == GST_FLOW_OK; ++i) {
      flow = gst_harness_push(h, frame_at(i * GST_MSECOND));
    }
    const GstFlowReturn at_end = flow;
    push_segment(h);
    flow = gst_harness_push(h, frame_at(GST_SECOND));
    gst_harness_teardown(h);
    ck_assert_int_eq(at_end, GST_FLOW_EOS);
    ck_assert_msg(flow == GST_FLOW_OK, "round %d: %s", round, gst_flow_get_name(flow));
  }
}

DVNN_TEST(a_downstream_eos_ends_the_wait_of_a_frame_for_slots) {
  // The frame behind the last one has as many regions as there are slots, and waits for one more.
  constexpr int kRounds = 10;
  for (int round = 0; round < kRounds; ++round) {
    GstHarness* h =
        gst_harness_new_parse(("dvconvert regions=tiles tiles=4x4 ! " +
                               infer(Looks::kRed, "max-in-flight=1") + " ! identity eos-after=3")
                                  .c_str());
    gst_harness_set_src_caps_str(h, video_caps("RGB", 64, 64).c_str());
    GstFlowReturn flow = GST_FLOW_OK;
    for (guint i = 0; i < 100 && flow == GST_FLOW_OK; ++i) {
      flow = gst_harness_push(h, frame_at(i * GST_MSECOND));
    }
    ck_assert_int_eq(flow, GST_FLOW_EOS);
    // What follows is inferred as if nothing had been.
    push_segment(h);
    flow = gst_harness_push(h, frame_at(GST_SECOND));
    gst_harness_teardown(h);
    ck_assert_msg(flow == GST_FLOW_OK, "round %d: %s", round, gst_flow_get_name(flow));
  }
}

DVNN_TEST(frames_come_out_after_eos_and_a_new_stream) {
  GstHarness* h = gst_harness_new_parse(("dvconvert ! " + infer() + " ! dvdecode").c_str());
  for (int round = 0; round < 3; ++round) {
    gst_harness_push_event(h, gst_event_new_stream_start(("s" + std::to_string(round)).c_str()));
    gst_harness_set_src_caps_str(h, video_caps("RGB", 64, 64).c_str());
    push_segment(h);
    for (guint i = 0; i < 5; ++i) {
      ck_assert_int_eq(gst_harness_push(h, frame_at(i * GST_MSECOND)), GST_FLOW_OK);
    }
    gst_harness_push_event(h, gst_event_new_eos());
    for (guint i = 0; i < 5; ++i) {
      GstBuffer* out = gst_harness_pull(h);
      ck_assert_msg(out, "round %d frame %u", round, i);
      std::vector<Found> expected;
      expected_on(out, video_info("RGB", 64, 64), Looks::kRed, &expected);
      const std::string wrong = difference(detections(out), expected, 0.01, 0.01);
      ck_assert_msg(wrong.empty(), "%s", wrong.c_str());
      gst_buffer_unref(out);
    }
  }
  gst_harness_teardown(h);
}

DVNN_TEST(a_whole_stream_may_queue_behind_an_eos_that_is_under_way) {
  GstHarness* h = gst_harness_new_parse(("dvconvert ! " + infer() + " ! dvdecode").c_str());
  // Holds the first EOS, as a slow element downstream would, until all of the next stream is in.
  struct Hold {
    std::mutex mutex;
    std::condition_variable changed;
    bool is_held = false, may_go = false;
  } hold;
  gst_pad_add_probe(
      h->sinkpad, GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM,
      [](GstPad*, GstPadProbeInfo* info, gpointer held) {
        if (GST_EVENT_TYPE(GST_PAD_PROBE_INFO_EVENT(info)) != GST_EVENT_EOS)
          return GST_PAD_PROBE_OK;
        auto& hold = *static_cast<Hold*>(held);
        std::unique_lock<std::mutex> lock(hold.mutex);
        hold.is_held = true;
        hold.changed.notify_all();
        hold.changed.wait(lock, [&] { return hold.may_go; });
        return GST_PAD_PROBE_OK;
      },
      &hold, nullptr);
  for (int round = 0; round < 2; ++round) {
    gst_harness_push_event(h, gst_event_new_stream_start(("s" + std::to_string(round)).c_str()));
    gst_harness_set_src_caps_str(h, video_caps("RGB", 64, 64).c_str());
    push_segment(h);
    ck_assert_int_eq(gst_harness_push(h, frame_at(0)), GST_FLOW_OK);
    gst_harness_push_event(h, gst_event_new_eos());
    std::unique_lock<std::mutex> lock(hold.mutex);
    hold.changed.wait(lock, [&] { return hold.is_held; });
  }
  {
    const std::lock_guard<std::mutex> lock(hold.mutex);
    hold.may_go = true;
    hold.changed.notify_all();
  }
  for (int round = 0; round < 2; ++round) {
    GstBuffer* out = gst_harness_pull(h);
    ck_assert_msg(out, "the frame of stream %d is missing", round);
    gst_buffer_unref(out);
  }
  gst_harness_teardown(h);
}

DVNN_TEST(an_unlinked_dvinfer_beside_a_live_branch_is_no_error) {
  // An endless stream: at its end gstqueue, too, posts an error for what it could not push.
  for (const char* head : {"dvconvert ! ", "queue ! dvconvert ! queue ! ", ""}) {
    Pipeline pipeline(painted_source(kEndless) + "tee name=t t. ! queue" + kSink + " t. ! " + head +
                      infer());
    demand(&pipeline, pipeline.set_state(GST_STATE_PLAYING));
    demand(&pipeline, pipeline.run_until([&] { return pipeline.count() >= 10 * kFrames; },
                                         "the other branch had its frames"));
    demand(&pipeline, pipeline.stop());
  }
}

DVNN_TEST(a_branch_that_is_linked_again_goes_on) {
  Pipeline pipeline(painted_source(kEndless) + "identity sleep-time=1000 ! tee name=t t. ! queue" +
                    kSink + " t. ! queue ! dvconvert ! " + infer(Looks::kRed, "name=infer") +
                    " ! identity name=tail");
  demand(&pipeline, pipeline.set_state(GST_STATE_PLAYING));
  for (size_t round = 1; round <= 3; ++round) {
    const size_t before = pipeline.count();
    demand(&pipeline, pipeline.run_until([&] { return pipeline.count() >= before + 20; },
                                         "the other branch went on alone"));
    const std::string name = "out" + std::to_string(round);
    GstElement* decode = gst_element_factory_make("dvdecode", nullptr);
    GstElement* sink = gst_element_factory_make("fakesink", name.c_str());
    g_object_set(sink, "async", FALSE, nullptr);
    gst_bin_add_many(GST_BIN(pipeline.get()), decode, sink, nullptr);
    gst_element_link(decode, sink);
    gst_element_sync_state_with_parent(sink);
    gst_element_sync_state_with_parent(decode);
    ck_assert(gst_element_link(pipeline["tail"], decode));
    demand(&pipeline, pipeline.run_until([&] { return pipeline.count(name) >= 20; },
                                         "frames came through the new link"));
    const std::string wrong = wrong_boxes(pipeline.arrivals(name));
    demand(&pipeline, wrong.empty(), wrong);
    demand(&pipeline, unlink_between_frames(&pipeline, pipeline["tail"]));
    for (GstElement* element : {decode, sink}) {
      gst_element_set_state(element, GST_STATE_NULL);
      gst_bin_remove(GST_BIN(pipeline.get()), element);
    }
  }
  demand(&pipeline, pipeline.stop());
}

DVNN_TEST(a_flush_does_not_wait_for_the_device) {
  FaultPlan faults("");
  for (const char* between : {"", "queue ! "}) {
    Pipeline pipeline(painted_source(kEndless) + "dvconvert ! " + between +
                      infer(Looks::kRed, FaultPlan::device()) + " ! dvdecode" + kSink);
    demand(&pipeline, pipeline.set_state(GST_STATE_PAUSED));
    faults.set("exec:1:hang");
    demand(&pipeline, pipeline.set_state(GST_STATE_PLAYING));
    settle(&pipeline, "the device hung", &faults);  // all slots are taken
    std::atomic<bool> done{false};
    GstElement* element = pipeline.get();
    std::thread flusher([&] {
      gst_element_send_event(element, gst_event_new_flush_start());
      done = true;
    });
    bool flushed = pipeline.run_until([&] { return done.load(); }, "the flush was through");
    faults.release();
    flusher.join();
    demand(&pipeline, flushed);
    demand(&pipeline, pipeline.stop());
  }
}

DVNN_TEST(null_returns_while_dvconvert_waits_for_a_slot) {
  FaultPlan faults("");
  for (const char* head :
       {"dvconvert ! ", "dvconvert ! queue ! ", "", "dvconvert ! other/tensors ! ",
        "dvconvert ! other/tensors ! queue ! "}) {
    Pipeline pipeline(painted_source(kEndless) + head + infer(Looks::kRed, FaultPlan::device()) +
                      " ! fakesink name=out async=false");
    demand(&pipeline, pipeline.set_state(GST_STATE_PAUSED));
    faults.set("exec:1:hang");
    demand(&pipeline, pipeline.set_state(GST_STATE_PLAYING));
    settle(&pipeline, "the device hung", &faults);
    std::thread rescuer([&] {
      g_usleep(300 * 1000);
      faults.release();
    });
    const bool stopped = pipeline.stop();
    rescuer.join();
    demand(&pipeline, stopped);
  }
}

DVNN_TEST(seeks_while_the_device_is_slow_show_only_new_frames) {
  FaultPlan faults("exec:*:delay=5");
  Pipeline pipeline(painted_source(kEndless) + "dvconvert ! queue ! " +
                    infer(Looks::kRed, FaultPlan::device()) +
                    " ! queue ! dvdecode ! fakesink name=out");
  demand(&pipeline, pipeline.set_state(GST_STATE_PAUSED));
  demand(&pipeline, pipeline.set_state(GST_STATE_PLAYING));
  for (guint64 i = 0; i < 20; ++i) {
    const size_t before = pipeline.count();
    const GstClockTime to = (i * 7 % 20) * GST_SECOND;
    ck_assert(gst_element_seek_simple(pipeline.get(), GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH,
                                      static_cast<gint64>(to)));
    const size_t after = pipeline.count();
    demand(&pipeline, pipeline.run_until([&] { return pipeline.count() >= after + 1 + i % 4; },
                                         "frames came after a seek"));
    const std::vector<Arrival> arrivals = pipeline.arrivals();
    ck_assert_uint_ge(after, before);
    const GstClockTime first = arrivals[after].pts;
    demand(&pipeline, first >= to && first < to + GST_SECOND, "a frame of before the seek");
  }
  const std::vector<Arrival> arrivals = pipeline.arrivals();
  demand(&pipeline, pipeline.stop());
  const std::string wrong = wrong_boxes(arrivals);
  ck_assert_msg(wrong.empty(), "%s", wrong.c_str());
}

DVNN_TEST(the_state_may_change_in_the_middle_of_everything) {
  FaultPlan faults("exec:*:delay=2");
  Pipeline pipeline(
      painted_source(kEndless) + "dvconvert ! queue ! " + infer(Looks::kRed, FaultPlan::device()) +
      " ! tee name=t t. ! queue ! dvdecode ! dvoverlay" + kSink +
      " t. ! queue ! appsink async=false sync=false wait-on-eos=false max-buffers=20 drop=true");
  GRand* random = g_rand_new_with_seed(12);
  const GstState states[] = {GST_STATE_NULL, GST_STATE_READY, GST_STATE_PAUSED, GST_STATE_PLAYING};
  for (int i = 0; i < 40; ++i) {
    const bool reached = pipeline.set_state(states[g_rand_int_range(random, 0, 4)]);
    if (!reached) g_rand_free(random);
    demand(&pipeline, reached);
    g_usleep(static_cast<gulong>(g_rand_int_range(random, 0, 30000)));
  }
  g_rand_free(random);
  demand(&pipeline, pipeline.set_state(GST_STATE_PLAYING));
  const size_t before = pipeline.count();
  demand(&pipeline,
         pipeline.run_until([&] { return pipeline.count() > before + 10; }, "frames came at last"));
  demand(&pipeline, pipeline.stop());
}

DVNN_TEST(serialized_events_keep_their_place) {
  GstHarness* h = gst_harness_new_parse(("dvconvert ! " + infer()).c_str());
  gst_harness_set_src_caps_str(h, video_caps("RGB", 64, 64).c_str());
  struct {
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<std::string> names;
  } order;
  GstPad* pad = gst_element_get_static_pad(h->element, "src");
  if (!pad) pad = GST_PAD(gst_object_ref(gst_pad_get_peer(h->sinkpad)));
  gst_pad_add_probe(
      pad,
      static_cast<GstPadProbeType>(GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM),
      [](GstPad*, GstPadProbeInfo* info, gpointer list) {
        auto& seen = *static_cast<decltype(order)*>(list);
        const std::lock_guard<std::mutex> lock(seen.mutex);
        if (GST_PAD_PROBE_INFO_TYPE(info) & GST_PAD_PROBE_TYPE_BUFFER) {
          seen.names.push_back("frame");
        } else if (GST_EVENT_TYPE(GST_PAD_PROBE_INFO_EVENT(info)) == GST_EVENT_CUSTOM_DOWNSTREAM) {
          seen.names.push_back("event");
        }
        seen.changed.notify_all();
        return GST_PAD_PROBE_OK;
      },
      &order, nullptr);
  gst_object_unref(pad);
  for (guint i = 0; i < 10; ++i) {
    gst_harness_push(h, frame_at(i * GST_MSECOND));
    gst_harness_push_event(
        h, gst_event_new_custom(GST_EVENT_CUSTOM_DOWNSTREAM, gst_structure_new_empty("mark")));
  }
  for (int i = 0; i < 10; ++i) gst_buffer_unref(gst_harness_pull(h));
  gst_harness_push_event(h, gst_event_new_eos());
  {
    std::unique_lock<std::mutex> lock(order.mutex);
    wait_watched(&order.changed, &lock, "events", [&] { return order.names.size() == 20; });
  }
  gst_harness_teardown(h);
  for (size_t i = 0; i < 20; ++i)
    ck_assert_str_eq(order.names[i].c_str(), i % 2 ? "event" : "frame");
}

DVNN_TEST(worker_threads_are_announced) {
  Pipeline pipeline(painted_source(kFrames) + "dvconvert ! " +
                    infer(Looks::kRed, "name=infer max-in-flight=3") + " ! dvdecode" + kSink);
  demand(&pipeline, pipeline.play_to_end());
  demand(&pipeline, pipeline.stop());
  size_t entered = 0;
  for (const Message& message : pipeline.messages()) {
    entered += message.type == GST_MESSAGE_STREAM_STATUS && message.source.rfind("src", 0) == 0 &&
               message.text.find("infer") != std::string::npos &&
               message.text.find("enter") != std::string::npos;
    entered += message.type == GST_MESSAGE_STREAM_STATUS && message.source == "infer" &&
               message.text.find("enter") != std::string::npos;
  }
  ck_assert_msg(entered >= 2, "%zu threads of dvinfer were announced", entered);
}

DVNN_TEST(pads_of_a_stopped_dvinfer_may_be_activated_and_take_nothing) {
  GstElement* element = gst_element_factory_make("dvinfer", nullptr);
  GstPad* sink = gst_element_get_static_pad(element, "sink");
  GstPad* src = gst_element_get_static_pad(element, "src");
  ck_assert(!gst_pad_set_active(src, TRUE));
  ck_assert(gst_pad_set_active(sink, TRUE));
  ck_assert(!gst_pad_send_event(sink, gst_event_new_stream_start("it")));
  ck_assert(!gst_pad_send_event(sink, gst_event_new_flush_start()));
  ck_assert(!gst_pad_send_event(sink, gst_event_new_flush_stop(TRUE)));
  ck_assert(gst_pad_set_active(sink, FALSE));
  gst_object_unref(sink);
  gst_object_unref(src);
  gst_object_unref(element);
}

}  // namespace dvnn::test::queue_rules_tests
