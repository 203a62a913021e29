// SPDX-License-Identifier: Apache-2.0
// Frames that do not wait for a second network: they leave at once, and what it finds joins the
// tracks of its objects when it is there. The device is one that stands still until it is told.
#include <algorithm>
#include <string>

#include "fault_device.h"
#include "gst/dvnn/gstdvobjectsmeta.h"
#include "gst/dvnn/gstdvtensormeta.h"
#include "streams.h"
#include "watched_suite.h"

namespace dvnn::test::late_results_tests {

DVNN_WATCHED_SUITE(gst_late_results);

namespace {

constexpr int kWidth = 128, kHeight = 64;
constexpr char kHang[] = "exec:*:hang";

// A second network, and the plan of its device from its first frame on.
class Line {
 public:
  explicit Line(const std::string& properties, const std::string& plan = kHang,
                const std::string& convert = "refresh-ms=100000", const std::string& decode = "")
      : faults("") {
    h = chain("dvconvert name=convert regions=objects " + convert + " ! " +
                  infer(Looks::kRed,
                        "name=infer when-busy=pass " + properties + " " + FaultPlan::device()) +
                  " ! dvdecode " + decode,
              video_caps("RGB", kWidth, kHeight));
    bus = gst_bus_new();
    gst_element_set_bus(h->element, bus);
    element = gst_bin_get_by_name(GST_BIN(h->element), "infer");
    faults.set(plan);
  }
  ~Line() {
    faults.release();
    gst_element_set_bus(h->element, nullptr);
    gst_object_unref(bus);
    gst_object_unref(element);
    gst_harness_teardown(h);
  }
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  guint64 stat(const char* name) const { return stat_of(element, name); }
  // Waits until the device stands still in a run.
  void expect_hanging() { faults.await_hang(); }
  GstMessage* next_message(GstMessageType type) {
    return gst_bus_timed_pop_filtered(bus, 10 * GST_SECOND, type);
  }

  FaultPlan faults;
  GstHarness* h;
  GstBus* bus;
  GstElement* element;
};

// A frame of the time `ms` with objects of one cell each from `x` on; those of tracks 1, 2, …, or
// of none.
GstBuffer* frame_at(guint64 ms, int x, int objects, bool tracked = true) {
  GstBuffer* frame = grid_frame(kWidth, kHeight, 1);
  GST_BUFFER_PTS(frame) = ms * GST_MSECOND;
  GstDvObjectsMeta* meta = gst_buffer_add_dv_objects_meta(frame);
  gst_dv_objects_meta_add_pass(meta, "first", GST_DV_PASS_INFERRED);
  for (int i = 0; i < objects; ++i) {
    GstDvObject* object =
        gst_dv_objects_meta_add_object(meta, GST_DV_OBJECT_DETECTION, 1, "thing", 0.9f);
    gst_dv_object_set_box(object, x, 16 * i, x + 32, 16 * i + 16);
    object->network = 0;
    object->track_id = tracked ? static_cast<guint64>(i) + 1 : 0;
  }
  return frame;
}

struct Seen {
  std::vector<Found> parts;
  size_t predicted = 0;
  GstDvPassState state = GST_DV_PASS_INFERRED;
};

Seen see(GstBuffer* frame) {
  ck_assert_ptr_nonnull(frame);
  Seen seen;
  GstDvObjectsMeta* meta = gst_buffer_get_dv_objects_meta(frame);
  seen.state = gst_dv_objects_meta_get_pass(meta, 1)->state;
  for (guint i = 0; i < gst_dv_objects_meta_get_n_objects(meta); ++i) {
    const GstDvObject* o = gst_dv_objects_meta_get_object(meta, i);
    if (o->parent == 0) continue;
    seen.parts.push_back(
        {o->label, static_cast<double>(o->confidence), o->x0, o->y0, o->x1, o->y1, o->class_id});
    if (o->predicted) ++seen.predicted;
  }
  gst_buffer_unref(frame);
  return seen;
}

Seen show(const Line& line, GstBuffer* frame) {
  return see(gst_harness_push_and_pull(line.h, frame));
}

// Returns what is found if no result is late.
std::vector<Found> wanted_parts(int objects) {
  GstHarness* h = chain("dvconvert regions=objects ! " + infer(Looks::kRed) + " ! dvdecode",
                        video_caps("RGB", kWidth, kHeight));
  const Seen seen = see(gst_harness_push_and_pull(h, frame_at(0, 0, objects)));
  gst_harness_teardown(h);
  ck_assert_uint_gt(seen.parts.size(), 0);
  return seen.parts;
}

// Frames without another look, one every 40 ms and 2 pixels further, until the work of those before
// has come back; the last of them.
Seen show_until_inferred(const Line& line, guint64 inferred, guint64* frame) {
  for (;;) {
    const Seen seen = show(line, frame_at(*frame * 40, static_cast<int>(*frame % 16) * 2, 4));
    ++*frame;
    if (line.stat("inferred") >= inferred) return seen;
    ck_assert_uint_eq(seen.parts.size(), 0);
  }
}

}  // namespace

DVNN_TEST(a_frame_leaves_at_once_and_its_results_join_its_tracks) {
  Line line("max-in-flight=2");
  const std::vector<Found> wanted = wanted_parts(4);
  // The device has begun, and goes on for as long as it likes.
  Seen seen = show(line, frame_at(0, 0, 4));
  ck_assert_int_eq(seen.state, GST_DV_PASS_SKIPPED);
  ck_assert_uint_eq(seen.parts.size(), 0);
  line.expect_hanging();
  guint64 frame = 1;
  for (; frame < 6; ++frame) {
    seen = show(line, frame_at(frame * 40, static_cast<int>(frame) * 2, 4));
    ck_assert_uint_eq(seen.parts.size(), 0);
  }
  line.faults.release();
  seen = show_until_inferred(line, 1, &frame);
  // They come where the objects are by now, and stay with them.
  for (int i = 0; i < 3; ++i) {
    std::vector<Found> moved = wanted;
    const int x = static_cast<int>((frame - 1) % 16) * 2;
    for (Found& part : moved) part.x0 += x, part.x1 += x;
    dvnn_assert_text(difference(seen.parts, moved, 1e-9), "");
    ck_assert_uint_eq(seen.predicted, seen.parts.size());
    ck_assert_uint_eq(line.stat("joined"), 4);
    seen = see(gst_harness_push_and_pull(
        line.h, frame_at(frame * 40, static_cast<int>(frame % 16) * 2, 4)));
    ++frame;
  }
}

DVNN_TEST(a_result_grows_with_its_object_until_it_joins) {
  Line line("");
  const std::vector<Found> wanted = wanted_parts(1);
  show(line, frame_at(0, 0, 1));
  line.faults.release();
  for (guint64 i = 1;; ++i) {
    GstBuffer* frame = frame_at(i * 40, 0, 1);
    GstDvObject* object = gst_dv_objects_meta_get_object(gst_buffer_get_dv_objects_meta(frame), 0);
    gst_dv_object_set_box(object, 20, 10, 20 + 32 * 1.1, 10 + 16 * 1.1);
    const Seen seen = show(line, frame);
    if (seen.parts.empty()) continue;
    std::vector<Found> grown = wanted;
    for (Found& p : grown) {
      p.x0 = 20 + 1.1 * p.x0, p.x1 = 20 + 1.1 * p.x1;
      p.y0 = 10 + 1.1 * p.y0, p.y1 = 10 + 1.1 * p.y1;
    }
    dvnn_assert_text(difference(seen.parts, grown, 1e-9), "");
    return;
  }
}

DVNN_TEST(late_results_can_be_dropped) {
  Line line("late-results=drop");
  show(line, frame_at(0, 0, 4));
  line.faults.release();
  guint64 frame = 1;
  for (int i = 0; i < 4; ++i) {
    ck_assert_uint_eq(show_until_inferred(line, 1, &frame).parts.size(), 0);
  }
  ck_assert_uint_eq(line.stat("joined"), 0);
}

DVNN_TEST(frames_wait_where_they_are_told_to_or_nothing_could_join) {
  const std::vector<Found> wanted = wanted_parts(3);
  const auto expect_own = [&](const Seen& seen) {
    ck_assert_int_eq(seen.state, GST_DV_PASS_INFERRED);
    ck_assert_uint_eq(seen.predicted, 0);
    dvnn_assert_text(difference(seen.parts, wanted, 1e-9), "");
  };
  const char delay[] = "exec:*:delay=20";
  {
    Line line("late-results=wait", delay);
    expect_own(show(line, frame_at(0, 0, 3)));
  }
  for (const char* what : {"attach", "drop"}) {
    Line line(std::string("late-after-ms=10000 late-results=") + what, delay);
    expect_own(show(line, frame_at(0, 0, 3)));
    ck_assert_uint_eq(line.stat("joined"), 0);
  }
  {
    // Objects without a track.
    Line line("", delay);
    expect_own(show(line, frame_at(0, 0, 3, false)));
  }
}

// For how long it waits is the queue's, whose test moves the time.
DVNN_TEST(a_frame_waits_for_no_longer_than_it_may) {
  Line line("late-after-ms=50");
  const Seen seen = show(line, frame_at(0, 0, 1));
  ck_assert_int_eq(seen.state, GST_DV_PASS_SKIPPED);
  line.faults.await_hang();
}

DVNN_TEST(objects_for_which_there_are_no_slots_have_their_turn_later) {
  // Three slots of dvconvert's.
  Line line("max-in-flight=1");
  show(line, frame_at(0, 0, 4));
  line.expect_hanging();
  line.faults.set("");
  line.faults.release();
  for (guint64 i = 1;; ++i) {
    show(line, frame_at(i * 40, 0, 4));
    if (line.stat("inferred") == 2) {
      // The fourth may have been in time.
      ck_assert_uint_ge(line.stat("joined"), 3);
      // The two that waited behind the one that stood still, and the fourth.
      ck_assert_int_eq(line.faults.count("exec"), 3);
      return;
    }
  }
}

namespace {

// What was under way before `change` must join nothing after it, which lets nothing more be looked
// at.
template <typename Change>
void expect_nothing_after(Change change) {
  Line line("");
  show(line, frame_at(0, 0, 4));
  line.expect_hanging();
  change(&line);
  line.faults.release();
  // Until the work is over, and then some.
  int left = 5;
  for (guint64 i = 1; left > 0; ++i) {
    ck_assert_uint_eq(show(line, frame_at(i * 40, 0, 4)).parts.size(), 0);
    if (line.stat("slots-free") == line.stat("slots")) --left;
  }
  ck_assert_uint_eq(line.stat("joined"), 0);
}

GstEvent* time_segment() {
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  return gst_event_new_segment(&segment);
}

}  // namespace

DVNN_TEST(nothing_joins_after_a_flush_other_caps_or_another_segment) {
  expect_nothing_after([](Line* line) {
    gst_harness_push_event(line->h, gst_event_new_flush_start());
    gst_harness_push_event(line->h, gst_event_new_flush_stop(TRUE));
    gst_harness_push_event(line->h, time_segment());
    g_object_set(line->element, "active", FALSE, nullptr);
  });
  // An element that is not active would forget late work by itself.
  expect_nothing_after([](Line* line) {
    g_object_set(line->element, "interval-frames", 1000, nullptr);
    gst_harness_push_event(line->h, time_segment());
  });
  expect_nothing_after([](Line* line) {
    g_object_set(line->element, "interval-frames", 1000, nullptr);
    const std::string caps = video_caps("RGB", kWidth, kHeight) + ",views=1";
    gst_harness_set_src_caps_str(line->h, caps.c_str());
  });
}

DVNN_TEST(nothing_joins_after_another_network) {
  // One region of the first frame stands still, and with it the frame's results.
  Line line("", "exec:1:hang");
  show(line, frame_at(0, 0, 4));
  line.expect_hanging();
  g_object_set(line.element, "network", grid_path(Looks::kBlue).c_str(), nullptr);
  int left = 5;  // frames after the results of the old one have come
  for (guint64 i = 1; left > 0; ++i) {
    ck_assert_uint_eq(show(line, frame_at(i * 40, 0, 4)).parts.size(), 0);
    if (line.stat("inferred") > 0) --left;
    GstMessage* message = gst_bus_pop_filtered(line.bus, GST_MESSAGE_ELEMENT);
    if (message && gst_message_has_name(message, "network-changed")) line.faults.release();
    gst_clear_message(&message);
  }
  // It was done, and dropped.
  ck_assert_uint_eq(line.stat("inferred"), 1);
  ck_assert_uint_eq(line.stat("joined"), 0);
}

DVNN_TEST(the_end_of_the_stream_waits_for_nothing_late) {
  Line line("");
  show(line, frame_at(0, 0, 4));
  line.expect_hanging();
  gst_harness_push_event(line.h, gst_event_new_eos());
  // It arrives while the device stands still.
  for (bool ended = false; !ended;) {
    GstEvent* event = gst_harness_pull_event(line.h);
    ck_assert_ptr_nonnull(event);
    ended = GST_EVENT_TYPE(event) == GST_EVENT_EOS;
    gst_event_unref(event);
  }
  ck_assert_int_gt(line.faults.hanging(), 0);
}

DVNN_TEST(a_late_run_that_fails_is_told_as_on_error_says) {
  {
    Line line("", "exec:*:fail,exec:1:hang");
    show(line, frame_at(0, 0, 1));
    line.faults.release();
    GstMessage* message = line.next_message(GST_MESSAGE_ERROR);
    ck_assert_ptr_nonnull(message);
    gst_message_unref(message);
  }
  Line line("on-error=pass", "exec:1:fail,exec:1:hang");
  show(line, frame_at(0, 0, 1));
  line.faults.release();
  GstMessage* message = line.next_message(GST_MESSAGE_WARNING);
  ck_assert_ptr_nonnull(message);
  GError* error = nullptr;
  gst_message_parse_warning(message, &error, nullptr);
  ck_assert_msg(std::strstr(error->message, "a result that was late"), "%s", error->message);
  g_error_free(error);
  gst_message_unref(message);
  show(line, frame_at(40, 0, 1));
}

DVNN_TEST(a_late_run_that_never_ends_is_told) {
  Line line("watchdog-ms=300 max-in-flight=1");
  show(line, frame_at(0, 0, 3));
  GstMessage* message = line.next_message(GST_MESSAGE_ERROR);
  ck_assert_ptr_nonnull(message);
  gst_message_unref(message);
}

DVNN_TEST(frames_behind_a_tracker_are_expected_to_leave_at_once) {
  const auto latency = [](const std::string& head, const std::string& properties) {
    FaultPlan faults("exec:*:delay=200");
    GstHarness* h = chain(head + "dvconvert regions=objects ! " +
                              infer(Looks::kRed, properties + " " + FaultPlan::device()),
                          video_caps("RGB", kWidth, kHeight));
    const GstClockTime time = gst_harness_query_latency(h);
    gst_harness_teardown(h);
    return time / GST_MSECOND;
  };
  ck_assert_uint_ge(latency("", "when-busy=pass"), 200);
  ck_assert_uint_ge(latency("dvtrack ! ", "when-busy=wait"), 200);
  ck_assert_uint_ge(latency("dvtrack ! ", "when-busy=pass late-results=wait"), 200);
  ck_assert_uint_lt(latency("dvtrack ! queue ! ", "when-busy=pass"), 200);
}

// Any element that tracks objects may say so: dvinfer does not look for an element's name.
DVNN_TEST(any_tracker_may_answer_that_it_is_one) {
  FaultPlan faults("exec:*:delay=200");
  GstHarness* h = gst_harness_new_parse(
      ("dvconvert regions=objects ! " + infer(Looks::kRed, "when-busy=pass " + FaultPlan::device()))
          .c_str());
  static const GstPadQueryFunction of_harness = GST_PAD_QUERYFUNC(h->srcpad);
  gst_pad_set_query_function(h->srcpad, [](GstPad* pad, GstObject* parent, GstQuery* query) {
    const bool asked = GST_QUERY_TYPE(query) == GST_QUERY_CUSTOM &&
                       gst_structure_has_name(gst_query_get_structure(query), "dvnn-tracked");
    return asked ? TRUE : of_harness(pad, parent, query);
  });
  // It is asked at the start, which the harness has done already.
  gst_element_set_state(h->element, GST_STATE_READY);
  gst_element_set_state(h->element, GST_STATE_PLAYING);
  gst_harness_set_src_caps_str(h, video_caps("RGB", kWidth, kHeight).c_str());
  ck_assert_uint_lt(gst_harness_query_latency(h) / GST_MSECOND, 200);
  gst_harness_teardown(h);
}

DVNN_TEST(video_keeps_its_rate_before_a_slow_second_network) {
  // A run takes a third of a second, and there are several for each frame.
  FaultPlan faults("");
  Pipeline pipeline(painted_source(120, "is-live=true", "src", kWidth, kHeight) + "dvconvert ! " +
                    infer() +
                    " ! dvdecode ! dvtrack min-evidence=0 ! queue ! dvconvert "
                    "regions=objects ! queue ! " +
                    infer(Looks::kUpperRed, "name=second when-busy=pass " + FaultPlan::device()) +
                    " ! queue ! dvdecode ! fakesink name=out async=false sync=true");
  demand(&pipeline, pipeline.set_state(GST_STATE_PAUSED));
  faults.set("exec:*:delay=333");
  demand(&pipeline, pipeline.play_to_end());
  ck_assert_uint_eq(pipeline.arrivals().size(), 120);
  GstStructure* stats = nullptr;
  g_object_get(pipeline["second"], "stats", &stats, nullptr);
  guint64 inferred = 0;
  ck_assert(gst_structure_get_uint64(stats, "inferred", &inferred));
  gst_structure_free(stats);
  ck_assert_uint_ge(inferred, 1);
  // Four seconds of video; were frames held back, reported latency would have grown by it.
  GstQuery* query = gst_query_new_latency();
  demand(&pipeline, gst_element_query(pipeline.get(), query));
  GstClockTime least = 0;
  gst_query_parse_latency(query, nullptr, &least, nullptr);
  gst_query_unref(query);
  ck_assert_uint_lt(least, 333 * GST_MSECOND);
  demand(&pipeline, pipeline.stop());
}

}  // namespace dvnn::test::late_results_tests
