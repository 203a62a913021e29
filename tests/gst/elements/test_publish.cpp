// SPDX-License-Identifier: Apache-2.0
// dvpublish: what becomes a document, once, and what it says when it cannot publish. How documents
// are delivered is tests/publish's.
#include "publish_harness.h"

namespace dvnn::test::publish_tests {

DVNN_GST_SUITE(gst_publish);

DVNN_TEST(a_frame_becomes_a_document) {
  PublishHarness harness("extra-fields=\"{\\\"site\\\":\\\"Kyoto\\\"}\"");
  harness.push(0, 50);
  harness.push(1, 0);
  const auto all = harness.documents();
  ck_assert_uint_eq(all.size(), 2);
  ck_assert(all[0]["objects"][0]["box"] == json({45, 20, 55, 60}));
  ck_assert(all[0]["objects"][0]["track_id"] == 7);
  ck_assert(all[0]["stream"] == "cam");
  ck_assert(all[0]["fields"]["site"] == "Kyoto");
  ck_assert(all[0]["frame"]["width"] == kWidth);
  ck_assert(all[1]["time"]["pts"] == kFrame);
  ck_assert(all[1]["objects"].empty());
}

// Other owners of a frame see it unchanged, and it is not copied.
DVNN_TEST(a_frame_that_others_hold_passes_as_it_is) {
  PublishHarness harness("");
  GstBuffer* frame = PublishHarness::frame(0);
  add_person(frame, 50);
  gst_buffer_ref(frame);
  GstBuffer* out = gst_harness_push_and_pull(harness.get(), frame);
  ck_assert_ptr_eq(out, frame);
  gst_buffer_unref(out);
  gst_buffer_unref(frame);
}

// Each detail that `details` may name is there once, and stays the frame's: a mask's cells live as
// long as the frame, and are released once.
DVNN_TEST(every_detail_is_published_and_stays_the_frames) {
  static int released;
  released = 0;
  static const guint8 cells[] = {0, 128, 255, 64, 32, 16};
  PublishHarness harness("details=points+outlines+masks+texts+embeddings+numbers");
  GstBuffer* frame = PublishHarness::frame(0);
  GstDvObject* object = add_object(frame);
  gst_dv_object_set_box(object, 10, 20, 50, 60);
  gst_dv_object_add_point(object, 1, 2, 0.5f);
  gst_dv_object_set_skeleton(object, "hand");
  for (double x : {10.0, 50.0, 30.0}) gst_dv_object_add_corner(object, x, 20);
  gst_dv_object_set_text(object, "AB-123");
  gst_dv_object_set_text_format(object, "plate");
  const gfloat embedding[] = {0.25f, -1};
  gst_dv_object_set_embedding(object, embedding, G_N_ELEMENTS(embedding));
  gst_dv_object_add_number(object, "age", 41);
  GBytes* bytes = g_bytes_new_with_free_func(
      cells, sizeof cells, [](gpointer) { ++released; }, nullptr);
  ck_assert(gst_dv_object_set_mask(object, 10, 20, 50, 60, 3, 2, bytes));
  g_bytes_unref(bytes);
  gst_buffer_ref(frame);
  GstBuffer* out = gst_harness_push_and_pull(harness.get(), frame);
  ck_assert_ptr_eq(out, frame);
  const auto all = harness.documents();
  ck_assert_int_eq(released, 0);
  ck_assert_uint_eq(g_bytes_get_size(gst_dv_object_get_mask_cells(object)), sizeof cells);
  gst_buffer_unref(out);
  gst_buffer_unref(frame);
  ck_assert_int_eq(released, 1);
  ck_assert_uint_eq(all.size(), 1);
  const json& found = all[0]["objects"][0];
  ck_assert(found["points"] == json::parse("[[1,2,0.5]]"));
  ck_assert(found["skeleton"] == "hand");
  ck_assert(found["outline"] == json::parse("[[10,20],[50,20],[30,20]]"));
  ck_assert(found["text"] == "AB-123");
  ck_assert(found["text_format"] == "plate");
  ck_assert(found["embedding"] == json::parse("[0.25,-1]"));
  ck_assert(found["numbers"] == json::parse("{\"age\":41}"));
  ck_assert(found["mask"] ==
            json::parse(R"({"box":[10,20,50,60],"cells":"AID/QCAQ","height":2,"width":3})"));
}

DVNN_TEST(what_is_not_agreed_is_left_out_if_asked) {
  for (const bool only : {false, true}) {
    PublishHarness harness(only ? "only-agreed=true" : "");
    GstBuffer* frame = PublishHarness::frame(0);
    GstDvObjectsMeta* meta = gst_buffer_add_dv_objects_meta(frame);
    const auto add = [&](GstDvObjectKind kind, const char* text, guint looks, bool agreed) {
      GstDvObject* object = gst_dv_objects_meta_add_object(meta, kind, 1, "thing", 0.5f);
      gst_dv_object_set_text(object, text);
      gst_dv_object_set_agreement(object, looks, 0.75f, agreed);
    };
    add(GST_DV_OBJECT_CLASSIFICATION, nullptr, 2, false);
    add(GST_DV_OBJECT_DETECTION, "open", 2, false);
    add(GST_DV_OBJECT_DETECTION, "agreed", 3, true);
    add(GST_DV_OBJECT_DETECTION, "single", 0, false);
    gst_buffer_unref(gst_harness_push_and_pull(harness.get(), frame));
    const json found = harness.documents().at(0)["objects"];
    ck_assert_uint_eq(found.size(), only ? 3 : 4);
    const size_t first = only ? 0 : 1;
    ck_assert(found[first].contains("text") != only);
    ck_assert(found[first]["agreement"] ==
              json::parse(R"({"looks": 2, "probability": 0.75, "agreed": false})"));
    ck_assert(found[first + 1]["text"] == "agreed");
    ck_assert(found[first + 1]["agreement"]["agreed"] == true);
    ck_assert(found[first + 2]["text"] == "single" && !found[first + 2].contains("agreement"));
  }
}

DVNN_TEST(each_event_is_published_once_also_the_last) {
  PublishHarness harness("mode=events", kLine);
  harness.push(0, 50);
  harness.push(1, 90);
  harness.push(2, 150);
  // The area is left when the stream ends, and no frame comes with it.
  const auto all = harness.documents();
  dvnn_assert_text(kinds(all), "enter cross leave ");
  ck_assert(all[1]["event"]["line"] == "gate");
  ck_assert(all[1]["event"]["track_id"] == 7);
  const int64_t pts = all[1]["time"]["pts"].get<int64_t>();
  ck_assert(pts > static_cast<int64_t>(kFrame) && pts < static_cast<int64_t>(2 * kFrame));
}

// --- times and sizes ---------------------------------------------------------------------------

namespace {

constexpr guint64 kFrom1900To1970 = G_GUINT64_CONSTANT(2208988800) * GST_SECOND;
constexpr guint64 kNoon = G_GUINT64_CONSTANT(1790251200) * GST_SECOND;  // 2026-09-24T12:00:00Z

// As rtspsrc and others attach it.
void add_reference_time(GstBuffer* frame, const char* clock, guint64 time) {
  GstCaps* caps = gst_caps_new_empty_simple(clock);
  gst_buffer_add_reference_timestamp_meta(frame, caps, time, GST_CLOCK_TIME_NONE);
  gst_caps_unref(caps);
}

}  // namespace

DVNN_TEST(times_are_the_cameras_where_frames_have_them) {
  PublishHarness harness("");
  GstBuffer* frame = PublishHarness::frame(0);
  add_reference_time(frame, "timestamp/x-ntp", kNoon + kFrom1900To1970 + 1500 * GST_USECOND);
  harness.push(frame);
  frame = PublishHarness::frame(1);
  add_reference_time(frame, "timestamp/x-unix", kNoon + GST_SECOND);
  harness.push(frame);
  // A clock that counts from anywhere is no time of day.
  frame = PublishHarness::frame(2);
  add_reference_time(frame, "timestamp/x-ntp", 5 * GST_SECOND);
  harness.push(frame);
  frame = PublishHarness::frame(3);
  add_reference_time(frame, "timestamp/x-other", kNoon);
  harness.push(frame);
  const auto all = harness.documents();
  ck_assert_uint_eq(all.size(), 4);
  ck_assert(all[0]["time"]["ntp"] == kNoon + kFrom1900To1970 + 1500 * GST_USECOND);
  ck_assert(all[0]["time"]["utc"] == "2026-09-24T12:00:00.001500Z");
  ck_assert(all[1]["time"]["utc"] == "2026-09-24T12:00:01.000000Z");
  ck_assert(!all[1]["time"].contains("ntp"));
  ck_assert(all[2]["time"]["ntp"] == 5 * GST_SECOND);
  for (size_t i = 0; i < all.size(); ++i) {
    ck_assert(all[i]["time"]["utc_from"] == (i < 2 ? "reference" : "clock"));
  }
}

DVNN_TEST(events_between_frames_have_times_between_theirs) {
  PublishHarness harness("mode=events", kLine);
  for (int i = 0; i < 3; ++i) {
    GstBuffer* frame = PublishHarness::frame(i);
    add_reference_time(frame, "timestamp/x-ntp",
                       kNoon + kFrom1900To1970 + static_cast<guint64>(i) * kFrame);
    add_person(frame, i == 0 ? 50 : 50 + 60 * i);
    harness.push(frame);
  }
  const auto all = harness.documents();
  ck_assert(all[1]["event"]["kind"] == "cross");
  const auto pts = all[1]["time"]["pts"].get<guint64>();
  ck_assert(pts > 0 && pts % kFrame != 0);
  ck_assert(all[1]["time"]["ntp"] == kNoon + kFrom1900To1970 + pts);
  ck_assert(all[1]["time"]["utc_from"] == "reference");
}

DVNN_TEST(a_cropped_frame_has_the_size_of_all_its_pixels) {
  PublishHarness harness("");
  GstBuffer* frame = PublishHarness::frame(0);
  gst_buffer_append_memory(frame, gst_allocator_alloc(nullptr, kWidth * 10, nullptr));
  gst_buffer_add_video_meta(frame, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_GRAY8, kWidth,
                            kHeight + 10);
  harness.push(frame);
  // The picture is of this frame, no other.
  harness.push(PublishHarness::frame(1));
  const auto all = harness.documents();
  ck_assert(all[0]["frame"] == json({{"width", kWidth}, {"height", kHeight + 10}}));
  ck_assert(all[1]["frame"] == json({{"width", kWidth}, {"height", kHeight}}));
}

// Such a meta's number is none of an int, which the documents' sizes are.
DVNN_TEST(a_size_that_no_video_has_is_not_believed) {
  PublishHarness harness("");
  GstBuffer* frame = PublishHarness::frame(0);
  GstVideoMeta* meta = gst_buffer_add_video_meta(frame, GST_VIDEO_FRAME_FLAG_NONE,
                                                 GST_VIDEO_FORMAT_GRAY8, kWidth, kHeight);
  meta->width = meta->height = G_MAXUINT;
  harness.push(frame);
  const auto all = harness.documents();
  ck_assert(all[0]["frame"] == json({{"width", kWidth}, {"height", kHeight}}));
}

DVNN_TEST(frames_keep_to_interval_and_change) {
  {
    PublishHarness harness("interval-ms=300");
    for (int i = 0; i < 10; ++i) harness.push(i, 50);
    ck_assert_uint_eq(harness.documents().size(), 4);
  }
  PublishHarness harness("min-change=0.1 heartbeat-ms=500");
  // Still, moved by less, by more, gone, still nothing, the heartbeat.
  const double places[] = {50, 50, 55, 62, 0, 0, 0, 0, 0, 0};
  for (int i = 0; i < 10; ++i) harness.push(i, places[i]);
  std::vector<int> numbers;
  for (const json& one : harness.documents()) {
    numbers.push_back(static_cast<int>(one["time"]["pts"].get<uint64_t>() / kFrame));
  }
  ck_assert((numbers == std::vector<int>{0, 3, 4, 9}));
}

// What ONVIF's metadata are is tests/publish's.
DVNN_TEST(frames_and_events_are_onvif_metadata_if_asked_for) {
  PublishHarness harness("format=onvif mode=frames+events", kLine);
  harness.push(0, 50);
  harness.push(1, 150);
  const auto has = [](const std::string& line, const char* part) {
    return line.find(part) != std::string::npos;
  };
  const std::vector<std::string> all = harness.lines();
  size_t frames = 0, crossings = 0, stays = 0;
  for (const std::string& line : all) {
    ck_assert(has(line, "<tt:MetadataStream ") && has(line, "</tt:MetadataStream>"));
    frames += has(line, "<tt:Object ObjectId=\"7\">");
    crossings += has(line, "LineDetector/Crossed");
    stays += has(line, "FieldDetector/ObjectsInside");
  }
  ck_assert_uint_eq(frames, 2);
  ck_assert_uint_eq(crossings, 1);
  ck_assert_uint_ge(stays, 1);
  ck_assert_uint_eq(all.size(), frames + crossings + stays);
}

DVNN_TEST(without_a_place_to_publish_to_it_does_not_start) {
  for (const char* settings :
       {"", "url=mqtt://localhost options=\"qos=7\"",
        "url=mqtt://localhost options=\"status=no\" discovery=home-assistant",
        "location=/dev/null discovery=home-assistant",
        "url=http://localhost options=\"batch=2\" format=onvif"}) {
    GstElement* element = gst_parse_launch((std::string("dvpublish ") + settings).c_str(), nullptr);
    GstBus* bus = gst_bus_new();
    gst_element_set_bus(element, bus);
    ck_assert_int_eq(gst_element_set_state(element, GST_STATE_PAUSED), GST_STATE_CHANGE_FAILURE);
    GstMessage* message = gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR);
    ck_assert_ptr_nonnull(message);
    GError* error = nullptr;
    gst_message_parse_error(message, &error, nullptr);
    ck_assert(g_error_matches(error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS) ||
              g_error_matches(error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS));
    g_error_free(error);
    gst_message_unref(message);
    gst_element_set_bus(element, nullptr);
    gst_element_set_state(element, GST_STATE_NULL);
    gst_object_unref(element);
    gst_object_unref(bus);
  }
}

}  // namespace dvnn::test::publish_tests
