// SPDX-License-Identifier: Apache-2.0
// No wait in the plugin depends on a thread that waits for the plugin: queues, doubled frames,
// branches that keep frames, two networks. Every test compares boxes with the frames' pixels, so a
// result that lands on the wrong frame shows, too.
#include "fault_device.h"
#include "watched_suite.h"

namespace dvnn::test::flow_tests {

DVNN_WATCHED_SUITE(gst_flow);

namespace {

constexpr int kFrames = 60;
constexpr int kDoubled = 2 * kFrames - 2;  // what videorate makes of them at twice the rate

// A queue without a limit that holds `frames` frames before it passes the first one on.
std::string hoard(int frames) {
  return "queue max-size-buffers=0 max-size-bytes=0 max-size-time=0 min-threshold-buffers=" +
         std::to_string(frames);
}

const char* const kSink = " ! fakesink name=out async=false";
const char* const kOther = "fakesink async=false";

}  // namespace

DVNN_TEST(frames_pass_queues_between_every_pair) {
  play_and_expect_boxes(painted_source(kFrames) + "queue ! dvconvert ! queue ! " + infer() +
                            " ! queue ! dvdecode ! queue" + kSink,
                        kFrames);
}

DVNN_TEST(streams_of_tensors_pass_queues_between_every_pair) {
  const std::vector<Arrival> linear =
      play(painted_source(kFrames) + "dvconvert ! " + infer() + " ! other/tensors" + kSink);
  ck_assert_uint_eq(linear.size(), kFrames);
  for (const char* between : {"", "queue ! ", "queue max-size-buffers=1 ! "}) {
    const std::string description = painted_source(kFrames) + "dvconvert ! other/tensors ! " +
                                    between + infer() + " ! " + between + "other/tensors" + kSink;
    expect_same(play(description), linear, description);
  }
}

DVNN_TEST(streams_of_tensors_pass_a_branch_that_keeps_them) {
  const std::vector<Arrival> linear =
      play(painted_source(kFrames) + "dvconvert ! " + infer() + " ! other/tensors" + kSink);
  const std::string description = painted_source(kFrames) + "dvconvert ! other/tensors ! queue ! " +
                                  infer() + " ! other/tensors ! tee name=t t. ! queue" + kSink +
                                  " t. ! " + hoard(30) + " ! " + kOther;
  expect_same(play(description), linear, description);
}

DVNN_TEST(doubled_frames_pass_a_queue_before_dvinfer) {
  for (const char* between : {"queue ! ", "queue max-size-buffers=2 ! ", ""}) {
    play_and_expect_boxes(painted_source(kFrames) +
                              "dvconvert ! videorate ! video/x-raw,framerate=60/1 ! " + between +
                              infer() + " ! dvdecode" + kSink,
                          kDoubled);
  }
}

DVNN_TEST(halved_frames_pass_a_queue_before_dvinfer) {
  play_and_expect_boxes(
      painted_source(kFrames) +
          "dvconvert ! queue ! videorate ! video/x-raw,framerate=15/1 ! queue ! " + infer() +
          " ! dvdecode" + kSink,
      kFrames / 2 + 1);
}

DVNN_TEST(a_queue_may_keep_frames_before_dvinfer) {
  // Slots travel on frames that the queue keeps: dvconvert must not wait for them.
  play_and_expect_boxes(painted_source(kFrames) + "dvconvert ! " + hoard(20) + " ! " + infer() +
                            " ! dvdecode" + kSink,
                        kFrames);
}

DVNN_TEST(a_queue_may_keep_frames_with_outputs) {
  play_and_expect_boxes(painted_source(kFrames) + "dvconvert ! " + infer() + " ! " + hoard(20) +
                            " ! dvdecode" + kSink,
                        kFrames);
}

DVNN_TEST(a_branch_may_keep_frames_with_outputs) {
  play_and_expect_boxes(painted_source(kFrames) + "dvconvert ! " + infer() +
                            " ! tee name=t t. ! queue ! dvdecode" + kSink + " t. ! " + hoard(30) +
                            " ! " + kOther,
                        kFrames);
}

DVNN_TEST(a_branch_may_keep_decoded_frames) {
  play_and_expect_boxes(painted_source(kFrames) + "dvconvert ! " + infer() +
                            " ! dvdecode ! tee name=t t. ! queue" + kSink + " t. ! " + hoard(30) +
                            " ! " + kOther,
                        kFrames);
}

DVNN_TEST(a_branch_may_keep_unseen_frames) {
  play_and_expect_boxes(painted_source(kFrames) + "dvconvert ! tee name=t t. ! queue ! " + infer() +
                            " ! dvdecode" + kSink + " t. ! " + hoard(30) + " ! " + kOther,
                        kFrames);
}

DVNN_TEST(an_application_may_keep_a_thousand_frames_with_outputs) {
  constexpr int kMany = 1000;
  Pipeline pipeline(painted_source(kMany) + "dvconvert ! " + infer() +
                    " ! tee name=t t. ! queue ! dvdecode" + kSink +
                    " t. ! queue ! appsink async=false sync=false wait-on-eos=false name=app");
  demand(&pipeline, pipeline.play_to_end());
  const std::vector<Arrival> arrivals = pipeline.arrivals();
  demand(&pipeline, pipeline.stop());
  expect_boxes_of_pixels(arrivals, kMany, pipeline.description());
}

DVNN_TEST(an_application_that_never_pulls_may_drop_old_frames) {
  play_and_expect_boxes(
      painted_source(kFrames) + "dvconvert ! " + infer() + " ! tee name=t t. ! queue ! dvdecode" +
          kSink +
          " t. ! queue ! appsink async=false sync=false wait-on-eos=false max-buffers=30 drop=true",
      kFrames);
}

namespace {

// Tells dvinfer that the sink is late, every other frame.
GstPadProbeReturn late_probe(GstPad* pad, GstPadProbeInfo* info, gpointer count) {
  GstBuffer* buffer = GST_PAD_PROBE_INFO_BUFFER(info);
  const bool late = ++*static_cast<guint*>(count) % 2 == 1;
  gst_pad_push_event(
      pad, gst_event_new_qos(GST_QOS_TYPE_UNDERFLOW, 2.0,
                             late ? 200 * GST_MSECOND : -10 * GST_MSECOND, GST_BUFFER_PTS(buffer)));
  return GST_PAD_PROBE_OK;
}

// Every frame comes; some have no boxes, those that have them have the right ones.
void expect_some_boxes(const std::vector<Arrival>& arrivals, size_t count,
                       const std::string& description) {
  ck_assert_msg(arrivals.size() == count, "%s: %zu frames of %zu", description.c_str(),
                arrivals.size(), count);
  std::vector<Arrival> inferred;
  for (const Arrival& arrival : arrivals) {
    if (!arrival.found.empty()) inferred.push_back(arrival);
  }
  ck_assert_msg(!inferred.empty(), "%s: no frame was inferred", description.c_str());
  expect_boxes_of_pixels(inferred, inferred.size(), description);
}

}  // namespace

DVNN_TEST(late_frames_may_be_kept_by_a_branch) {
  // A late frame passes without inference; the input tensor that dvconvert made must not go along.
  for (const std::string& keeper :
       {hoard(40) + " ! fakesink async=false",
        std::string("queue ! appsink async=false sync=false wait-on-eos=false")}) {
    const std::string description = painted_source(3 * kFrames) + "dvconvert ! " + infer() +
                                    " ! dvdecode ! tee name=t t. ! queue" + kSink + " t. ! " +
                                    keeper;
    Pipeline pipeline(description);
    guint count = 0;
    GstPad* pad = gst_element_get_static_pad(pipeline["out"], "sink");
    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, late_probe, &count, nullptr);
    gst_object_unref(pad);
    demand(&pipeline, pipeline.play_to_end());
    const std::vector<Arrival> arrivals = pipeline.arrivals();
    demand(&pipeline, pipeline.stop());
    expect_some_boxes(arrivals, 3 * kFrames, description);
  }
}

DVNN_TEST(two_networks_in_series_have_their_own_tensors) {
  for (const char* between : {"", "queue ! ", "queue max-size-buffers=1 ! "}) {
    const std::string head = painted_source(kFrames) + "dvconvert ! " + between;
    const std::string middle = std::string(" ! dvdecode ! dvconvert ! ") + between;
    for (Looks second : {Looks::kBlue, Looks::kUpperRed}) {
      // The boxes of both are on the frame: what each found alone, together.
      const std::string description =
          head + infer() + middle + infer(second) + " ! " + between + "dvdecode" + kSink;
      const std::vector<Arrival> both = play(description);
      const std::vector<Arrival> one = play(head + infer() + " ! dvdecode" + kSink);
      std::vector<Arrival> want = play(head + infer(second) + " ! dvdecode" + kSink, second);
      expect_boxes_of_pixels(want, kFrames, description);
      ck_assert_uint_eq(one.size(), want.size());
      for (size_t i = 0; i < want.size(); ++i) {
        want[i].found.insert(want[i].found.end(), one[i].found.begin(), one[i].found.end());
      }
      expect_same(both, want, description);
    }
  }
}

DVNN_TEST(networks_of_two_sizes_in_series_have_their_own_tensors) {
  const std::string description =
      painted_source(kFrames) + "dvconvert ! queue ! dvinfer network=" + grid_path(Looks::kRed, 8) +
      " ! dvdecode ! dvconvert ! queue ! " + infer(Looks::kBlue) + " ! queue ! dvdecode" + kSink;
  for (const Arrival& arrival : play(description, Looks::kBlue)) {
    std::vector<Found> blue;
    size_t fine = 0;
    for (const Found& found : arrival.found) {
      if (found.label == "blue") {
        blue.push_back(found);
      } else {
        ++fine;
        ck_assert_double_eq_tol(found.x1 - found.x0, 8, 0.01);
      }
    }
    // Half-red cells are two fine ones each, and there is at least one; whole ones are four.
    ck_assert_uint_ge(fine, 6);
    const std::string wrong = difference(blue, arrival.expected, 0.01, 0.01);
    ck_assert_msg(wrong.empty(), "%s", wrong.c_str());
  }
}

DVNN_TEST(two_networks_behind_a_tee_have_their_own_tensors) {
  Pipeline pipeline(painted_source(kFrames) + "dvconvert ! tee name=t t. ! queue ! " + infer() +
                    " ! dvdecode ! fakesink name=out0 async=false t. ! queue ! " +
                    infer(Looks::kBlue) + " ! dvdecode ! fakesink name=out1 async=false");
  demand(&pipeline, pipeline.play_to_end());
  const std::vector<Arrival> red = pipeline.arrivals("out0"), blue = pipeline.arrivals("out1");
  demand(&pipeline, pipeline.stop());
  expect_boxes_of_pixels(red, kFrames, pipeline.description());
  const std::string alone =
      painted_source(kFrames) + infer(Looks::kBlue) + " ! dvdecode ! fakesink name=out";
  expect_same(blue, play(alone, Looks::kBlue), pipeline.description());
}

DVNN_TEST(a_leaky_queue_behind_dvconvert_leaks_while_the_device_hangs) {
  // The queue fills: neither dvconvert nor the tee before it waits for the device.
  FaultPlan faults("");
  for (const char* leaky : {"downstream", "upstream"}) {
    Pipeline pipeline(painted_source(kFrames) +
                      "tee name=t t. ! queue max-size-buffers=0 "
                      "max-size-bytes=0 max-size-time=0 ! fakesink name=out_all async=false t. ! "
                      "dvconvert ! queue max-size-buffers=1 leaky=" +
                      leaky + " ! " + infer(Looks::kRed, FaultPlan::device()) +
                      " ! dvdecode ! fakesink name=out async=false");
    demand(&pipeline, pipeline.set_state(GST_STATE_PAUSED));
    faults.set("exec:1:hang");
    demand(&pipeline, pipeline.set_state(GST_STATE_PLAYING));
    const bool all = pipeline.run_until([&] { return pipeline.count("out_all") == kFrames; },
                                        "the other branch had every frame");
    faults.release();
    demand(&pipeline, all);
    demand(&pipeline, pipeline.run_to_end());
    const std::vector<Arrival> arrivals = pipeline.arrivals();
    demand(&pipeline, pipeline.stop());
    ck_assert_uint_lt(arrivals.size(), kFrames);
    ck_assert_uint_ge(arrivals.size(), 1);
    expect_boxes_of_pixels(arrivals, arrivals.size(), pipeline.description());
  }
}

}  // namespace dvnn::test::flow_tests
