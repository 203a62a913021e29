// SPDX-License-Identifier: Apache-2.0
// Messages of the elements: statistics, objects, QoS.
#include <set>

#include "decode_fixture.h"
#include "fault_device.h"
#include "gst/dvnn/gstdvtensormeta.h"
#include "seconds_of.h"
#include "watched_suite.h"

namespace dvnn::test::messages_tests {

DVNN_WATCHED_SUITE(gst_messages);

namespace {

constexpr int kFrames = 30;
const char* const kSink = " ! fakesink name=out async=false";

GstStructure* stats_of(Pipeline* pipeline) {
  GstStructure* stats = nullptr;
  g_object_get((*pipeline)["infer"], "stats", &stats, nullptr);
  ck_assert_ptr_nonnull(stats);
  return stats;
}

void expect_times(const GstStructure* stats, const char* field) {
  GstStructure* times = nullptr;
  ck_assert_msg(gst_structure_get(stats, field, GST_TYPE_STRUCTURE, &times, nullptr),
                "no structure '%s'", field);
  double mean = -1, p50 = -1, p99 = -1, max = -1;
  ck_assert_msg(gst_structure_get(times, "mean", G_TYPE_DOUBLE, &mean, "p50", G_TYPE_DOUBLE, &p50,
                                  "p99", G_TYPE_DOUBLE, &p99, "max", G_TYPE_DOUBLE, &max, nullptr),
                "'%s' lacks mean, p50, p99 or max", field);
  ck_assert_msg(mean >= 0 && p50 >= 0 && p50 <= p99 && p99 <= max && mean <= max,
                "%s: mean %f p50 %f p99 %f max %f", field, mean, p50, p99, max);
  gst_structure_free(times);
}

void expect_all_fields(const GstStructure* stats) {
  ck_assert(gst_structure_has_name(stats, "dvnn-stats"));
  for (const char* field : {"inferred", "passed", "late", "dropped", "waits", "joined"}) {
    natural_of(stats, field);
  }
  for (const char* field : {"conversion", "waiting", "device", "cpu"}) expect_times(stats, field);
  guint free = 0, slots = 0;
  double busy = -1;
  ck_assert(gst_structure_get(stats, "slots-free", G_TYPE_UINT, &free, "slots", G_TYPE_UINT, &slots,
                              "device-busy", G_TYPE_DOUBLE, &busy, nullptr));
  ck_assert(slots > 0 && free <= slots);
  ck_assert(busy >= 0 && busy <= 1);
}

// Has the sink answer each frame with what `qos` makes of its time, or with nothing.
void send_qos(Pipeline* pipeline, GstEvent* (*qos)(GstClockTime pts)) {
  GstPad* pad = gst_element_get_static_pad((*pipeline)["out"], "sink");
  gst_pad_add_probe(
      pad, GST_PAD_PROBE_TYPE_BUFFER,
      [](GstPad* sink, GstPadProbeInfo* info, gpointer data) {
        const auto make = reinterpret_cast<GstEvent* (*)(GstClockTime)>(data);
        GstEvent* event = make(GST_BUFFER_PTS(GST_PAD_PROBE_INFO_BUFFER(info)));
        if (event) gst_pad_push_event(sink, event);
        return GST_PAD_PROBE_OK;
      },
      reinterpret_cast<gpointer>(qos), nullptr);
  gst_object_unref(pad);
}

}  // namespace

DVNN_TEST(statistics_count_every_frame) {
  Pipeline pipeline(painted_source(kFrames) + "dvconvert ! " +
                    infer(Looks::kRed, "name=infer interval-frames=3") + " ! dvdecode" + kSink);
  demand(&pipeline, pipeline.play_to_end());
  GstStructure* stats = stats_of(&pipeline);
  demand(&pipeline, pipeline.stop());
  expect_all_fields(stats);
  ck_assert_uint_eq(natural_of(stats, "inferred"), kFrames / 3);
  ck_assert_uint_eq(natural_of(stats, "passed"), kFrames - kFrames / 3);
  ck_assert_uint_eq(natural_of(stats, "late"), 0);
  ck_assert_uint_eq(natural_of(stats, "dropped"), 0);
  gst_structure_free(stats);
}

DVNN_TEST(statistics_know_a_slow_device) {
  FaultPlan faults("");
  Pipeline pipeline(painted_source(20) + "dvconvert ! " +
                    infer(Looks::kRed, "name=infer " + FaultPlan::device()) + " ! dvdecode" +
                    kSink);
  demand(&pipeline, pipeline.set_state(GST_STATE_PAUSED));
  faults.set("exec:*:delay=20");
  demand(&pipeline, pipeline.play_to_end());
  GstStructure* stats = stats_of(&pipeline);
  demand(&pipeline, pipeline.stop());
  expect_all_fields(stats);
  GstStructure* device = nullptr;
  double p50 = 0, busy = 0;
  gst_structure_get(stats, "device", GST_TYPE_STRUCTURE, &device, "device-busy", G_TYPE_DOUBLE,
                    &busy, nullptr);
  gst_structure_get_double(device, "p50", &p50);
  ck_assert_double_ge(p50, 15);
  ck_assert_double_ge(busy, 0.5);
  gst_structure_free(device);
  gst_structure_free(stats);
}

// A region that waits for a slot is one wait, however long it is.
DVNN_TEST(statistics_count_a_wait_once) {
  constexpr int kRegions = 10;
  std::string list = "[[0,0,1,1]";
  for (int i = 1; i < kRegions; ++i) list += ",[0,0,1,1]";
  FaultPlan faults("");
  Pipeline pipeline(painted_source(1) + "dvconvert regions=list region-list=\"" + list + "]\" ! " +
                    infer(Looks::kRed, "name=infer max-in-flight=1 " + FaultPlan::device()) +
                    " ! dvdecode" + kSink);
  demand(&pipeline, pipeline.set_state(GST_STATE_READY));
  faults.set("exec:*:delay=350");
  demand(&pipeline, pipeline.play_to_end());
  GstStructure* stats = stats_of(&pipeline);
  demand(&pipeline, pipeline.stop());
  const guint64 waits = natural_of(stats, "waits");
  gst_structure_free(stats);
  ck_assert_uint_gt(waits, 0);
  ck_assert_uint_le(waits, kRegions);
}

DVNN_TEST(statistics_are_posted_every_so_often) {
  Pipeline pipeline(painted_source(60, "is-live=true") + "dvconvert ! " +
                    infer(Looks::kRed, "name=infer stats-interval-ms=200") + " ! dvdecode" + kSink);
  const double spent = seconds_of([&] { demand(&pipeline, pipeline.play_to_end()); });
  demand(&pipeline, pipeline.stop());
  const size_t posted = pipeline.count_messages(GST_MESSAGE_ELEMENT, "dvnn-stats");
  // Two seconds of frames, with which they come: not as many where the machine has no time for us.
  ck_assert_msg(posted >= 3 && static_cast<double>(posted) <= spent / 0.2 + 1, "%zu in %.1f s",
                posted, spent);
  for (const Message& message : pipeline.messages()) {
    if (!message.structure || !gst_structure_has_name(message.structure.get(), "dvnn-stats")) {
      continue;
    }
    expect_all_fields(message.structure.get());
    ck_assert_str_eq(message.source.c_str(), "infer");
  }
}

DVNN_TEST(statistics_can_be_read_in_every_state) {
  Pipeline pipeline(painted_source(kFrames) + "dvconvert ! " + infer(Looks::kRed, "name=infer") +
                    " ! dvdecode" + kSink);
  for (GstState state : {GST_STATE_NULL, GST_STATE_READY, GST_STATE_PAUSED, GST_STATE_PLAYING,
                         GST_STATE_READY, GST_STATE_NULL}) {
    demand(&pipeline, pipeline.set_state(state));
    GstStructure* stats = stats_of(&pipeline);
    const bool named = gst_structure_has_name(stats, "dvnn-stats");
    gst_structure_free(stats);
    demand(&pipeline, named, "no statistics");
  }
  demand(&pipeline, pipeline.stop());
}

namespace {

std::vector<const GstStructure*> objects_messages(const Pipeline& pipeline) {
  std::vector<const GstStructure*> list;
  for (const Message& message : pipeline.messages()) {
    if (message.structure && gst_structure_has_name(message.structure.get(), "dvnn-objects")) {
      list.push_back(message.structure.get());
    }
  }
  return list;
}

}  // namespace

DVNN_TEST(messages_tell_the_objects_and_times_of_each_frame) {
  Pipeline pipeline(painted_source(kFrames) + "dvconvert ! " + infer() +
                    " ! dvdecode post-messages=true" + kSink);
  demand(&pipeline, pipeline.play_to_end());
  const std::vector<Arrival> arrivals = pipeline.arrivals();
  demand(&pipeline, pipeline.stop());
  const std::vector<const GstStructure*> messages = objects_messages(pipeline);
  ck_assert_uint_eq(messages.size(), kFrames);
  std::set<guint64> ids;
  for (size_t i = 0; i < messages.size(); ++i) {
    const GstStructure* s = messages[i];
    ck_assert_uint_eq(natural_of(s, "timestamp"), arrivals[i].pts);
    ck_assert_uint_eq(natural_of(s, "stream-time"), arrivals[i].pts);
    ck_assert_uint_eq(natural_of(s, "running-time"), arrivals[i].pts);
    ck_assert_uint_gt(natural_of(s, "duration"), 0);
    ck_assert_str_eq(gst_structure_get_string(s, "network"), "grid");
    gboolean inferred = FALSE;
    ck_assert(gst_structure_get_boolean(s, "inferred", &inferred) && inferred);
    const GValue* list = gst_structure_get_value(s, "objects");
    std::vector<Found> found;
    for (guint k = 0; k < gst_value_list_get_size(list); ++k) {
      const GstStructure* o = gst_value_get_structure(gst_value_list_get_value(list, k));
      Found f;
      ck_assert(gst_structure_get(o, "class-id", G_TYPE_INT, &f.class_id, "confidence",
                                  G_TYPE_DOUBLE, &f.confidence, "x0", G_TYPE_DOUBLE, &f.x0, "y0",
                                  G_TYPE_DOUBLE, &f.y0, "x1", G_TYPE_DOUBLE, &f.x1, "y1",
                                  G_TYPE_DOUBLE, &f.y1, nullptr));
      f.label = gst_structure_get_string(o, "label");
      found.push_back(f);
      ck_assert(ids.insert(natural_of(o, "id")).second);
      ck_assert_uint_eq(natural_of(o, "parent"), 0);
      ck_assert_uint_eq(natural_of(o, "track-id"), 0);
    }
    const std::string wrong = difference(found, arrivals[i].found, 1e-6, 1e-6);
    ck_assert_msg(wrong.empty(), "%s", wrong.c_str());
  }
}

DVNN_TEST(messages_tell_the_points_of_an_object) {
  constexpr int kSide = 64;
  DecodeHarness decode;
  gst_harness_set_src_caps_str(decode.get(), video_caps("RGB", kSide, kSide).c_str());
  gst_util_set_object_arg(G_OBJECT(decode->element), "post-messages", "true");
  GstDvNetworkInfo* network = gst_dv_network_info_new(
      "points", "keypoints", R"({"unit": "pixels", "image": [64, 64], "point_size": 2})", nullptr);
  GstBuffer* frame = gst_buffer_new_allocate(nullptr, kSide * kSide * 3, nullptr);
  GST_BUFFER_PTS(frame) = 0;
  GstDvTensorMeta* outputs = gst_buffer_add_dv_tensor_meta(frame, 1);
  outputs->network = network;
  outputs->input_width = outputs->input_height = kSide;
  const float places[] = {8, 4, 32, 48.5f, 63, 0};
  set_floats(&outputs->tensors[0], "p", {1, std::size(places)}, places);
  gst_buffer_unref(gst_harness_push_and_pull(decode.get(), frame));
  GstMessage* message = gst_bus_pop_filtered(decode.bus(), GST_MESSAGE_ELEMENT);
  ck_assert_ptr_nonnull(message);
  const GValue* list = gst_structure_get_value(gst_message_get_structure(message), "objects");
  ck_assert_uint_eq(gst_value_list_get_size(list), 1);
  const GstStructure* object = gst_value_get_structure(gst_value_list_get_value(list, 0));
  // x, y and confidence of each.
  const GValue* points = gst_structure_get_value(object, "points");
  ck_assert(points && GST_VALUE_HOLDS_ARRAY(points));
  ck_assert_uint_eq(gst_value_array_get_size(points), 9);
  for (guint i = 0; i < 9; ++i) {
    const double wanted = i % 3 < 2 ? static_cast<double>(places[i / 3 * 2 + i % 3]) : 1;
    ck_assert_double_eq_tol(g_value_get_double(gst_value_array_get_value(points, i)), wanted, 1e-4);
  }
  gst_message_unref(message);
}

DVNN_TEST(empty_frames_are_told_of_if_asked) {
  for (bool empty : {false, true}) {
    Pipeline pipeline(
        painted_source(kFrames) + "dvconvert ! " + infer(Looks::kRed, "interval-frames=2") +
        " ! dvdecode post-messages=true post-empty=" + (empty ? "true" : "false") + kSink);
    demand(&pipeline, pipeline.play_to_end());
    demand(&pipeline, pipeline.stop());
    const std::vector<const GstStructure*> messages = objects_messages(pipeline);
    ck_assert_uint_eq(messages.size(), empty ? kFrames : kFrames / 2);
    size_t skipped = 0;
    for (const GstStructure* s : messages) {
      gboolean inferred = TRUE;
      gst_structure_get_boolean(s, "inferred", &inferred);
      skipped += !inferred;
      const GValue* list = gst_structure_get_value(s, "objects");
      if (!inferred) ck_assert_uint_eq(gst_value_list_get_size(list), 0);
    }
    ck_assert_uint_eq(skipped, empty ? kFrames / 2 : 0);
  }
}

DVNN_TEST(late_frames_are_told_of_as_qos) {
  Pipeline pipeline(painted_source(90) + "dvconvert ! " + infer(Looks::kRed, "name=infer") +
                    " ! dvdecode" + kSink);
  send_qos(&pipeline, [](GstClockTime pts) {
    return pts < GST_SECOND ? gst_event_new_qos(GST_QOS_TYPE_UNDERFLOW, 2.0, 300 * GST_MSECOND, pts)
                            : nullptr;
  });
  demand(&pipeline, pipeline.play_to_end());
  GstStructure* stats = stats_of(&pipeline);
  const std::vector<Arrival> arrivals = pipeline.arrivals();
  demand(&pipeline, pipeline.stop());
  const guint64 late = natural_of(stats, "late");
  gst_structure_free(stats);
  ck_assert_uint_gt(late, 0);
  size_t messages = 0, skipped = 0;
  for (const Message& message : pipeline.messages()) {
    messages += message.type == GST_MESSAGE_QOS && message.source == "infer";
  }
  for (const Arrival& arrival : arrivals) skipped += arrival.passes.skipped > 0;
  ck_assert_uint_eq(arrivals.size(), 90);
  ck_assert_uint_eq(messages, late);
  ck_assert_uint_eq(skipped, late);
}

DVNN_TEST(a_throttled_sink_does_not_make_frames_late) {
  Pipeline pipeline(painted_source(60) + "dvconvert ! " + infer(Looks::kRed, "name=infer") +
                    " ! dvdecode" + kSink);
  send_qos(&pipeline, [](GstClockTime pts) {
    return gst_event_new_qos(GST_QOS_TYPE_THROTTLE, 1.0, 300 * GST_MSECOND, pts);
  });
  demand(&pipeline, pipeline.play_to_end());
  const std::vector<Arrival> arrivals = pipeline.arrivals();
  demand(&pipeline, pipeline.stop());
  expect_boxes_of_pixels(arrivals, 60, "throttled");
}

DVNN_TEST(ids_are_unique_where_two_dvdecodes_write) {
  Pipeline pipeline(painted_source(kFrames) + "dvconvert ! " + infer() +
                    " ! dvdecode post-messages=true ! dvconvert ! " + infer(Looks::kBlue) +
                    " ! dvdecode post-messages=true" + kSink);
  demand(&pipeline, pipeline.play_to_end());
  demand(&pipeline, pipeline.stop());
  std::set<guint64> ids;
  size_t objects = 0;
  for (const GstStructure* s : objects_messages(pipeline)) {
    const GValue* list = gst_structure_get_value(s, "objects");
    for (guint k = 0; k < gst_value_list_get_size(list); ++k) {
      ++objects;
      ids.insert(natural_of(gst_value_get_structure(gst_value_list_get_value(list, k)), "id"));
    }
  }
  ck_assert_uint_gt(objects, kFrames);
  ck_assert_uint_eq(ids.size(), objects);
}

}  // namespace dvnn::test::messages_tests
