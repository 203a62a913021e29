// SPDX-License-Identifier: Apache-2.0
// Views hold for every frame, whichever element converts it: boxes are those of the linear
// pipeline, frame for frame.
#include <algorithm>
#include <atomic>

#include "watched_suite.h"

namespace dvnn::test::views_tests {

DVNN_WATCHED_SUITE(gst_views);

namespace {

constexpr int kFrames = 30;
const char* const kSink = " ! dvdecode ! fakesink name=out async=false";

// Settings under which the upper-half network finds other cells than without them.
const char* const kSettings[] = {
    "roi=\"<0.5,0.0,0.5,1.0>\"",
    "video-direction=90r",
    "video-direction=180",
    "video-direction=horiz roi=\"<0.0,0.25,0.5,0.5>\"",
    "resize=letterbox",
    "method=nearest roi=\"<0.25,0.25,0.5,0.5>\" backend=cpu",
    "resize=crop video-direction=90l",
};

// Wide frames, so that the ways to fit them differ.
std::string source(int frames = kFrames) {
  return painted_source(frames, "", "src", 128, 64);
}

std::string convert(const char* settings) {
  return std::string("dvconvert name=convert ") + settings + " ! ";
}

std::string upper() {
  return infer(Looks::kUpperRed);
}

std::vector<Arrival> linear(const char* settings) {
  return play(source() + convert(settings) + upper() + kSink, Looks::kUpperRed);
}

// Boxes of `description` equal the linear pipeline's.
void expect_linear(const char* settings, const std::string& description) {
  expect_same(play(description, Looks::kUpperRed), linear(settings), description);
}

bool differ(const std::vector<Arrival>& a, const std::vector<Arrival>& b) {
  return !compare_runs(a, b).empty();
}

}  // namespace

DVNN_TEST(settings_change_what_is_found) {
  // Without this the tests below could not fail.
  const std::vector<Arrival> plain = linear("");
  dvnn_assert_text(wrong_boxes(plain), "");
  for (const char* settings : kSettings) {
    ck_assert_msg(differ(linear(settings), plain), "%s", settings);
  }
}

DVNN_TEST(settings_hold_beside_a_branch_that_refuses_allocation) {
  for (const char* settings : kSettings) {
    expect_linear(settings, source() + convert(settings) + "tee name=t t. ! queue ! " + upper() +
                                kSink + " t. ! queue ! fakesink async=false");
  }
}

DVNN_TEST(settings_hold_for_two_networks_behind_a_tee) {
  for (const char* settings : kSettings) {
    Pipeline pipeline(source() + convert(settings) + "tee name=t t. ! queue ! " + upper() +
                          " ! dvdecode ! fakesink name=out0 async=false t. ! queue ! " + upper() +
                          " ! dvdecode ! fakesink name=out1 async=false",
                      Looks::kUpperRed);
    demand(&pipeline, pipeline.play_to_end());
    const std::vector<Arrival> first = pipeline.arrivals("out0"),
                               second = pipeline.arrivals("out1");
    demand(&pipeline, pipeline.stop());
    const std::vector<Arrival> want = linear(settings);
    expect_same(first, want, pipeline.description());
    expect_same(second, want, pipeline.description());
  }
}

DVNN_TEST(settings_hold_for_doubled_frames) {
  for (const char* settings : kSettings) {
    const std::string doubled = "videorate ! video/x-raw,framerate=60/1 ! ";
    const std::vector<Arrival> want =
        play(source() + doubled + convert(settings) + upper() + kSink, Looks::kUpperRed);
    const std::string description =
        source() + convert(settings) + doubled + "queue ! " + upper() + kSink;
    expect_same(play(description, Looks::kUpperRed), want, description);
  }
}

DVNN_TEST(settings_hold_through_videoconvert) {
  for (const char* settings : kSettings) {
    for (const char* format : {"BGRx", "RGB"}) {
      expect_linear(settings, source() + convert(settings) + "videoconvert ! video/x-raw,format=" +
                                  format + " ! queue ! " + upper() + kSink);
    }
  }
}

DVNN_TEST(settings_hold_through_videoscale) {
  // A region is a share of the frame, so a frame of half the size has it in the same place.
  for (const char* settings : kSettings) {
    const std::vector<Arrival> want = linear(settings);
    const std::string description =
        source() + convert(settings) +
        "videoscale method=nearest-neighbour ! video/x-raw,width=64,height=32 ! " + upper() + kSink;
    std::vector<Arrival> have = play(description, Looks::kUpperRed);
    for (Arrival& arrival : have) {
      for (Found& found : arrival.found) {
        found.x0 *= 2, found.x1 *= 2, found.y0 *= 2, found.y1 *= 2;
      }
    }
    expect_same(have, want, description, 0.5);
  }
}

DVNN_TEST(settings_hold_through_elements_that_pass_frames) {
  for (const char* settings : kSettings) {
    expect_linear(settings, source() + convert(settings) +
                                "queue ! identity drop-allocation=true ! valve ! " + upper() +
                                kSink);
    expect_linear(settings, source() + convert(settings) + "input-selector ! queue leaky=no ! " +
                                upper() + kSink);
  }
}

DVNN_TEST(settings_hold_for_the_first_of_two_networks) {
  for (const char* settings : kSettings) {
    const std::string description = source() + convert(settings) + upper() +
                                    " ! dvdecode ! dvconvert ! " + infer(Looks::kBlue) + kSink;
    std::vector<Arrival> have = play(description, Looks::kUpperRed);
    for (Arrival& arrival : have) {
      std::vector<Found> first;
      for (const Found& found : arrival.found) {
        if (found.label == "upper") first.push_back(found);
      }
      arrival.found = first;
    }
    expect_same(have, linear(settings), description);
  }
}

DVNN_TEST(a_later_dvconvert_has_the_last_word) {
  const std::string description =
      source() + "dvconvert roi=\"<0.0,0.0,0.5,0.5>\" ! dvconvert video-direction=180 ! " +
      upper() + kSink;
  expect_linear("video-direction=180", description);
}

namespace {

constexpr int kLong = 100000;  // frames: until the test has seen enough

// Frames at `sink` from number `from` on have the linear boxes. Both runs see the same frames.
void expect_linear_from(Pipeline* pipeline, const char* settings, size_t frames) {
  const std::vector<Arrival> have = pipeline->arrivals();
  demand(pipeline, pipeline->stop());
  const std::vector<Arrival> seen(have.begin(),
                                  have.begin() + static_cast<long>(std::min(frames, have.size())));
  // A restart may have lost frames, so the last one that was seen may have a higher number.
  guint64 last = frames;
  for (const Arrival& a : seen) last = std::max(last, a.pts * 30 / GST_SECOND + 2);
  const std::vector<Arrival> want =
      play(source(static_cast<int>(last)) + convert(settings) + upper() + kSink, Looks::kUpperRed);
  const std::string wrong = compare_runs(seen, want, 0, true);
  ck_assert_msg(wrong.empty(), "%s: %s", pipeline->description().c_str(), wrong.c_str());
  ck_assert_uint_ge(have.size(), frames);
}

}  // namespace

DVNN_TEST(settings_hold_when_a_branch_is_linked_while_playing) {
  constexpr size_t kEnough = 120;
  for (const char* settings : {kSettings[0], kSettings[1]}) {
    Pipeline pipeline(source(kLong) + "identity sleep-time=1000 ! " + convert(settings) +
                          "tee name=t allow-not-linked=true t. ! queue max-size-buffers=2 ! " +
                          upper() + kSink,
                      Looks::kUpperRed);
    demand(&pipeline, pipeline.set_state(GST_STATE_PLAYING));
    for (size_t round = 1; round <= 3; ++round) {
      demand(&pipeline, pipeline.run_until([&] { return pipeline.count() >= 30 * round; },
                                           "there were frames"));
      GstElement* branch =
          gst_parse_bin_from_description("queue ! fakesink async=false", TRUE, nullptr);
      gst_bin_add(GST_BIN(pipeline.get()), branch);
      gst_element_sync_state_with_parent(branch);
      ck_assert(gst_element_link(pipeline["t"], branch));
    }
    demand(&pipeline, pipeline.run_until([&] { return pipeline.count() >= kEnough; },
                                         "there were frames behind the new branch"));
    expect_linear_from(&pipeline, settings, kEnough);
  }
}

namespace {

GstPadProbeReturn cycle_probe(GstPad* pad, GstPadProbeInfo*, gpointer done) {
  GstPad* peer = gst_pad_get_peer(pad);
  GstElement* infer = GST_ELEMENT(gst_pad_get_parent(peer));
  gst_element_set_locked_state(infer, TRUE);
  gst_element_set_state(infer, GST_STATE_NULL);
  gst_element_set_locked_state(infer, FALSE);
  gst_element_sync_state_with_parent(infer);
  gst_object_unref(infer);
  gst_object_unref(peer);
  static_cast<std::atomic<bool>*>(done)->store(true);
  return GST_PAD_PROBE_REMOVE;
}

}  // namespace

DVNN_TEST(settings_hold_when_dvinfer_alone_is_restarted) {
  constexpr size_t kEnough = 90;
  for (const char* settings : {kSettings[0], kSettings[1]}) {
    Pipeline pipeline(
        source(kLong) + "identity sleep-time=1000 ! " + convert(settings) + upper() + kSink,
        Looks::kUpperRed);
    demand(&pipeline, pipeline.set_state(GST_STATE_PLAYING));
    demand(&pipeline,
           pipeline.run_until([&] { return pipeline.count() >= 30; }, "there were frames"));
    std::atomic<bool> done{false};
    GstPad* pad = gst_element_get_static_pad(pipeline["convert"], "src");
    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BLOCK_DOWNSTREAM, cycle_probe, &done, nullptr);
    gst_object_unref(pad);
    demand(&pipeline, pipeline.run_until([&] { return done.load(); }, "dvinfer was restarted"));
    const size_t before = pipeline.count();
    demand(&pipeline, pipeline.run_until([&] { return pipeline.count() >= before + kEnough; },
                                         "there were frames behind the restart"));
    expect_linear_from(&pipeline, settings, before + kEnough);
  }
}

namespace {

// The boxes of one frame, number 3, after `events` went in.
std::vector<Found> boxes_after(GstHarness* h, GstClockTime pts) {
  GstBuffer* in = grid_frame(64, 64, 3);
  GST_BUFFER_PTS(in) = pts;
  GstBuffer* out = gst_harness_push_and_pull(h, in);
  const std::vector<Found> found = detections(out);
  gst_buffer_unref(out);
  return found;
}

std::vector<Found> boxes_turned(const char* direction) {
  GstHarness* h = gst_harness_new_parse(
      (std::string("dvconvert video-direction=") + direction + " ! " + upper() + " ! dvdecode")
          .c_str());
  gst_harness_set_src_caps_str(h, video_caps("RGB", 64, 64).c_str());
  const std::vector<Found> found = boxes_after(h, 0);
  gst_harness_teardown(h);
  return found;
}

void push_orientation(GstHarness* h, const char* value, GstTagScope scope) {
  GstTagList* tags = gst_tag_list_new(GST_TAG_IMAGE_ORIENTATION, value, nullptr);
  gst_tag_list_set_scope(tags, scope);
  gst_harness_push_event(h, gst_event_new_tag(tags));
}

void push_stream(GstHarness* h, const char* id) {
  gst_harness_push_event(h, gst_event_new_stream_start(id));
  gst_harness_set_src_caps_str(h, video_caps("RGB", 64, 64).c_str());
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  gst_harness_push_event(h, gst_event_new_segment(&segment));
}

}  // namespace

DVNN_TEST(a_new_stream_forgets_the_orientation_tag) {
  const std::vector<Found> upright = boxes_turned("identity"), turned = boxes_turned("90r");
  ck_assert(!difference(upright, turned).empty());
  GstHarness* h = gst_harness_new_parse(
      ("dvconvert video-direction=auto ! " + upper() + " ! dvdecode").c_str());
  push_stream(h, "first");
  push_orientation(h, "rotate-90", GST_TAG_SCOPE_STREAM);
  dvnn_assert_text(difference(boxes_after(h, 0), turned), "");
  push_stream(h, "second");
  dvnn_assert_text(difference(boxes_after(h, GST_SECOND), upright), "");
  gst_harness_teardown(h);
}

DVNN_TEST(a_files_orientation_holds_where_its_stream_says_nothing) {
  const std::vector<Found> turned = boxes_turned("180"), other = boxes_turned("90r");
  GstHarness* h = gst_harness_new_parse(
      ("dvconvert video-direction=auto ! " + upper() + " ! dvdecode").c_str());
  push_stream(h, "first");
  push_orientation(h, "rotate-180", GST_TAG_SCOPE_GLOBAL);
  dvnn_assert_text(difference(boxes_after(h, 0), turned), "");
  push_orientation(h, "rotate-90", GST_TAG_SCOPE_STREAM);
  dvnn_assert_text(difference(boxes_after(h, GST_SECOND), other), "");
  gst_harness_teardown(h);
}

DVNN_TEST(concatenated_streams_have_their_own_orientation) {
  const std::string head =
      "concat name=c ! dvconvert video-direction=auto ! " + upper() + kSink + " ";
  const std::string tagged =
      painted_source(10, "", "src0") + "taginject tags=\"image-orientation=rotate-90\" ! c. ";
  const std::vector<Arrival> arrivals =
      play(head + tagged + painted_source(10, "", "src1") + "c.", Looks::kUpperRed);
  ck_assert_uint_eq(arrivals.size(), 20);
  const std::vector<Arrival> plain(arrivals.begin() + 10, arrivals.end());
  dvnn_assert_text(wrong_boxes(plain), "");
  ck_assert(!wrong_boxes(arrivals).empty());  // the first ten were seen turned
}

}  // namespace dvnn::test::views_tests
