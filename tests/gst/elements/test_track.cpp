// SPDX-License-Identifier: Apache-2.0
// dvtrack: what objects, regions and messages tell of tracks. How well it tracks is tests/track's.
#include "gst/dvnn/gstdvcamerameta.h"
#include "gst/dvnn/gstdvobjectsmeta.h"
#include "gst_fixture.h"

namespace dvnn::test::track_tests {

DVNN_GST_SUITE(gst_track);

namespace {

constexpr int kWidth = 320, kHeight = 240;
constexpr GstClockTime kFrame = 40 * GST_MSECOND;

struct Thing {
  double x;
  const char* label = "person";
  float confidence = 0.9f;
};

class TrackHarness {
 public:
  explicit TrackHarness(const char* launch = "dvtrack") {
    harness_ = gst_harness_new_parse(launch);
    // A bin of one element has no bus of its own.
    gst_element_set_bus(harness_->element, bus_);
    gst_harness_set_src_caps_str(harness_, video_caps("GRAY8", kWidth, kHeight).c_str());
  }
  ~TrackHarness() {
    gst_element_set_bus(harness_->element, nullptr);
    gst_harness_teardown(harness_);
    gst_object_unref(bus_);
  }
  TrackHarness(const TrackHarness&) = delete;
  TrackHarness& operator=(const TrackHarness&) = delete;

  GstHarness* operator->() const { return harness_; }
  GstHarness* get() const { return harness_; }

  // A frame that one network has seen or passed, in and out again; the caller's.
  GstBuffer* push(int number, const std::vector<Thing>& things,
                  GstDvPassState state = GST_DV_PASS_INFERRED, const char* network = "people") {
    GstBuffer* frame = gst_buffer_new_allocate(nullptr, kWidth * kHeight, nullptr);
    GST_BUFFER_PTS(frame) = static_cast<GstClockTime>(number) * kFrame;
    GstDvObjectsMeta* meta = gst_buffer_add_dv_objects_meta(frame);
    const auto pass = static_cast<gint>(gst_dv_objects_meta_add_pass(meta, network, state));
    for (const Thing& thing : things) {
      GstDvObject* object = gst_dv_objects_meta_add_object(meta, GST_DV_OBJECT_DETECTION, 1,
                                                           thing.label, thing.confidence);
      object->network = pass;
      gst_dv_object_set_box(object, thing.x, 50, thing.x + 40, 130);
      GstVideoRegionOfInterestMeta* roi = gst_buffer_add_video_region_of_interest_meta(
          frame, thing.label, static_cast<guint>(thing.x), 50, 40, 80);
      roi->id = static_cast<gint>(object->id & G_MAXINT);
      gst_video_region_of_interest_meta_add_param(
          roi, gst_structure_new("detection", "confidence", G_TYPE_DOUBLE, 0.9, nullptr));
    }
    return gst_harness_push_and_pull(harness_, frame);
  }
  // The ids of a frame's objects.
  std::vector<guint64> ids(int number, const std::vector<Thing>& things,
                           GstDvPassState state = GST_DV_PASS_INFERRED,
                           const char* network = "people") {
    GstBuffer* frame = push(number, things, state, network);
    GstDvObjectsMeta* meta = gst_buffer_get_dv_objects_meta(frame);
    std::vector<guint64> all;
    for (guint i = 0; i < gst_dv_objects_meta_get_n_objects(meta); ++i) {
      all.push_back(gst_dv_objects_meta_get_object(meta, i)->track_id);
    }
    gst_buffer_unref(frame);
    return all;
  }
  // The next message of this name, which is the caller's; null if there is none.
  GstMessage* message(const char* name) {
    while (GstMessage* message = gst_bus_pop_filtered(bus_, GST_MESSAGE_ELEMENT)) {
      if (gst_structure_has_name(gst_message_get_structure(message), name)) return message;
      gst_message_unref(message);
    }
    return nullptr;
  }
  size_t count(const char* name) {
    size_t n = 0;
    while (GstMessage* found = message(name)) {
      gst_message_unref(found);
      ++n;
    }
    return n;
  }

 private:
  GstHarness* harness_;
  GstBus* const bus_ = gst_bus_new();
};

using Ids = std::vector<guint64>;

}  // namespace

DVNN_TEST(objects_are_named_by_their_tracks) {
  TrackHarness h;
  for (int i = 0; i < 10; ++i) {
    // The order in which they are found changes.
    const Thing a{20.0 + 2 * i}, b{200.0 - i};
    const Ids ids = i % 2 ? h.ids(i, {b, a}) : h.ids(i, {a, b});
    const Ids none{0, 0}, straight{1, 2}, turned{2, 1};
    ck_assert(ids == (i < 1 ? none : i % 2 ? turned : straight));
  }
}

DVNN_TEST(regions_tell_the_track) {
  TrackHarness h("dvtrack min-evidence=0");
  h.ids(0, {{20}});
  GstBuffer* frame = h.push(1, {{22}, {200}});
  guint found = 0;
  gpointer state = nullptr;
  while (GstMeta* meta = gst_buffer_iterate_meta_filtered(
             frame, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE)) {
    auto* roi = reinterpret_cast<GstVideoRegionOfInterestMeta*>(meta);
    const guint64 id = roi->x < 100 ? 1 : 2;
    ck_assert_uint_eq(
        natural_of(gst_video_region_of_interest_meta_get_param(roi, "detection"), "track-id"), id);
    gint known = 0;
    gst_structure_get_int(gst_video_region_of_interest_meta_get_param(roi, "object_id"), "id",
                          &known);
    ck_assert_int_eq(known, static_cast<gint>(id));
    ++found;
  }
  ck_assert_uint_eq(found, 2);
  gst_buffer_unref(frame);
}

DVNN_TEST(frames_without_inference_show_what_is_expected) {
  for (bool predict : {true, false}) {
    TrackHarness h(predict ? "dvtrack" : "dvtrack predict=false");
    for (int i = 0; i <= 20; ++i) h.ids(i, {{20.0 + 3 * i}});
    GstBuffer* frame = h.push(22, {}, GST_DV_PASS_SKIPPED);
    GstDvObjectsMeta* meta = gst_buffer_get_dv_objects_meta(frame);
    ck_assert_uint_eq(gst_dv_objects_meta_get_n_objects(meta), predict ? 1 : 0);
    ck_assert_int_eq(gst_dv_objects_meta_get_pass(meta, 0)->state,
                     predict ? GST_DV_PASS_PREDICTED : GST_DV_PASS_SKIPPED);
    if (predict) {
      const GstDvObject* object = gst_dv_objects_meta_get_object(meta, 0);
      ck_assert(object->predicted);
      ck_assert_uint_eq(object->track_id, 1);
      ck_assert_str_eq(object->label, "person");
      ck_assert_int_eq(object->class_id, 1);
      ck_assert_int_eq(object->network, 0);
      ck_assert_double_eq_tol(object->x0, 20 + 3 * 22, 3);
      ck_assert_double_eq_tol(object->y1, 130, 2);
      ck_assert_uint_eq(gst_buffer_get_n_meta(frame, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE),
                        1);
      GstDvObject* copy = gst_dv_object_copy(object);
      ck_assert(copy->predicted);
      gst_dv_object_free(copy);
    }
    gst_buffer_unref(frame);
    ck_assert(h.ids(23, {{20.0 + 3 * 23}}) == Ids{1});
  }
}

DVNN_TEST(boxes_are_smoothed_unless_they_are_to_stay) {
  for (bool smooth : {true, false}) {
    TrackHarness h(smooth ? "dvtrack" : "dvtrack smooth=false");
    double farthest = 0;
    for (int i = 0; i < 40; ++i) {
      const double jitter = i % 2 ? 4 : -4;
      GstBuffer* frame = h.push(i, {{100 + jitter}});
      const GstDvObject* object =
          gst_dv_objects_meta_get_object(gst_buffer_get_dv_objects_meta(frame), 0);
      if (i >= 20) farthest = std::max(farthest, std::fabs(object->x0 - 100));
      gst_buffer_unref(frame);
    }
    if (smooth) {
      ck_assert_double_lt(farthest, 3);
    } else {
      ck_assert_double_eq_tol(farthest, 4, 1e-9);
    }
  }
}

DVNN_TEST(messages_tell_when_tracks_start_and_end) {
  TrackHarness h;
  for (int i = 0; i < 25; ++i) h.ids(i, {{20.0 + 2 * i, "person", i == 10 ? 0.95f : 0.9f}});
  GstMessage* message = h.message("dvnn-track-started");
  ck_assert_ptr_nonnull(message);
  const GstStructure* fields = gst_message_get_structure(message);
  ck_assert_uint_eq(natural_of(fields, "track-id"), 1);
  ck_assert_uint_eq(natural_of(fields, "timestamp"), kFrame);
  ck_assert_uint_eq(natural_of(fields, "running-time"), kFrame);
  ck_assert_uint_eq(natural_of(fields, "first"), 0);
  ck_assert_str_eq(gst_structure_get_string(fields, "label"), "person");
  ck_assert_str_eq(gst_structure_get_string(fields, "network"), "people");
  ck_assert_double_eq_tol(real_of(fields, "x0"), 22, 1e-9);
  gst_message_unref(message);
  gst_harness_push_event(h.get(), gst_event_new_eos());
  message = h.message("dvnn-track-ended");
  ck_assert_ptr_nonnull(message);
  fields = gst_message_get_structure(message);
  ck_assert_uint_eq(natural_of(fields, "track-id"), 1);
  ck_assert_uint_eq(natural_of(fields, "last"), 24 * kFrame);
  guint detections = 0;
  gst_structure_get_uint(fields, "detections", &detections);
  ck_assert_uint_eq(detections, 25);
  const GValue* path = gst_structure_get_value(fields, "path");
  const GValue* times = gst_structure_get_value(fields, "path-times");
  ck_assert_uint_eq(gst_value_array_get_size(path), 50);
  ck_assert_uint_eq(gst_value_array_get_size(times), 25);
  ck_assert_double_eq_tol(g_value_get_double(gst_value_array_get_value(path, 2)), 42, 1e-9);
  ck_assert_double_eq_tol(g_value_get_double(gst_value_array_get_value(path, 3)), 90, 1e-9);
  ck_assert_uint_eq(g_value_get_uint64(gst_value_array_get_value(times, 1)), kFrame);
  const GstStructure* view = gst_value_get_structure(gst_structure_get_value(fields, "best-view"));
  ck_assert_uint_eq(natural_of(view, "timestamp"), 10 * kFrame);
  ck_assert_double_eq_tol(real_of(view, "x0"), 40, 1e-9);
  gst_message_unref(message);
}

DVNN_TEST(messages_are_not_posted_if_nobody_wants_them) {
  TrackHarness h("dvtrack post-messages=false");
  for (int i = 0; i < 10; ++i) h.ids(i, {{20}});
  gst_harness_push_event(h.get(), gst_event_new_eos());
  ck_assert_uint_eq(h.count("dvnn-track-started"), 0);
}

DVNN_TEST(only_the_labels_that_are_listed_are_tracked) {
  TrackHarness h("dvtrack min-evidence=0 labels=\"car, person\"");
  ck_assert(h.ids(0, {{20, "dog"}, {100, "person"}, {200, "car"}}) == (Ids{0, 1, 2}));
}

DVNN_TEST(networks_have_tracks_of_their_own) {
  TrackHarness h("dvtrack min-evidence=0");
  ck_assert(h.ids(0, {{20}}, GST_DV_PASS_INFERRED, "people") == Ids{1});
  ck_assert(h.ids(1, {{20}}, GST_DV_PASS_INFERRED, "others") == Ids{2});
  ck_assert(h.ids(2, {{20}}, GST_DV_PASS_INFERRED, "people") == Ids{1});
}

DVNN_TEST(what_another_tracker_has_named_keeps_its_name) {
  TrackHarness h("dvtrack min-evidence=0 labels=car ! dvtrack min-evidence=0");
  ck_assert(h.ids(0, {{200, "car"}, {20, "person"}, {100, "person"}}) == (Ids{1, 1, 2}));
}

DVNN_TEST(flushes_end_tracks_and_new_streams_count_anew) {
  TrackHarness h("dvtrack min-evidence=0");
  ck_assert(h.ids(0, {{20}}) == Ids{1});
  gst_harness_push_event(h.get(), gst_event_new_flush_start());
  gst_harness_push_event(h.get(), gst_event_new_flush_stop(TRUE));
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  gst_harness_push_event(h.get(), gst_event_new_segment(&segment));
  ck_assert_uint_eq(h.count("dvnn-track-ended"), 1);
  ck_assert(h.ids(1, {{20}}) == Ids{2});
  gst_harness_push_event(h.get(), gst_event_new_stream_start("another"));
  gst_harness_set_src_caps_str(h.get(), video_caps("GRAY8", kWidth, kHeight).c_str());
  ck_assert_uint_eq(h.count("dvnn-track-ended"), 1);
  ck_assert(h.ids(2, {{20}}) == Ids{1});
}

DVNN_TEST(frames_without_times_follow_at_the_streams_rate) {
  TrackHarness h;  // 25 frames a second
  for (int i = 0; i < 6; ++i) {
    GstBuffer* frame = gst_buffer_new_allocate(nullptr, kWidth * kHeight, nullptr);
    GstDvObjectsMeta* meta = gst_buffer_add_dv_objects_meta(frame);
    GstDvObject* object =
        gst_dv_objects_meta_add_object(meta, GST_DV_OBJECT_DETECTION, 1, "person", 0.9f);
    gst_dv_object_set_box(object, 20, 20, 60, 100);  // of no network
    frame = gst_harness_push_and_pull(h.get(), frame);
    meta = gst_buffer_get_dv_objects_meta(frame);
    ck_assert_uint_eq(gst_dv_objects_meta_get_object(meta, 0)->track_id, i < 1 ? 0 : 1);
    gst_buffer_unref(frame);
  }
}

// A wall of blotches that the camera passes by `shift` pixels.
void show_wall(GstBuffer* frame, int shift) {
  GstMapInfo map;
  ck_assert(gst_buffer_map(frame, &map, GST_MAP_WRITE));
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) {
      const unsigned u = static_cast<unsigned>(x + shift) / 12, v = static_cast<unsigned>(y) / 12;
      map.data[y * kWidth + x] = static_cast<guint8>((u * 7919 + v * 104729 + u * v * 31) % 200);
    }
  }
  gst_buffer_unmap(frame, &map);
}

DVNN_TEST(tracks_follow_the_camera_that_frames_show_or_tell) {
  constexpr int kPan = 30;  // more than a box is wide, between two frames
  const struct {
    const char* launch;
    bool shown, told, kept;
  } cases[] = {{"dvtrack min-evidence=0 camera=moving", true, false, true},
               {"dvtrack min-evidence=0 camera=moving", false, true, true},
               {"dvtrack min-evidence=0", false, true, true},
               {"dvtrack min-evidence=0 camera=static", true, true, false}};
  for (const auto& c : cases) {
    TrackHarness h(c.launch);
    Ids names;
    for (int i = 0; i < 6; ++i) {
      GstBuffer* frame = gst_buffer_new_allocate(nullptr, kWidth * kHeight, nullptr);
      GST_BUFFER_PTS(frame) = static_cast<GstClockTime>(i) * kFrame;
      const int shift = i < 4 ? 0 : kPan;
      show_wall(frame, c.shown ? shift : 0);
      if (c.told) gst_buffer_add_dv_camera_meta(frame, 1, 0, i == 4 ? -kPan : 0, 0, 1, 0);
      GstDvObjectsMeta* meta = gst_buffer_add_dv_objects_meta(frame);
      GstDvObject* object =
          gst_dv_objects_meta_add_object(meta, GST_DV_OBJECT_DETECTION, 1, "person", 0.9f);
      gst_dv_object_set_box(object, 200 - shift, 50, 214 - shift, 110);
      frame = gst_harness_push_and_pull(h.get(), frame);
      names.push_back(
          gst_dv_objects_meta_get_object(gst_buffer_get_dv_objects_meta(frame), 0)->track_id);
      const GstDvCameraMeta* camera = gst_buffer_get_dv_camera_meta(frame);
      if (c.kept && i == 4) {
        ck_assert_ptr_nonnull(camera);
        ck_assert_double_eq_tol(camera->x0, -kPan, 0.5);
        ck_assert_double_eq_tol(camera->xx, 1, 0.005);
      }
      gst_buffer_unref(frame);
    }
    ck_assert_msg((names.back() == 1) == c.kept, "%s: %d", c.launch,
                  static_cast<int>(names.back()));
  }
}

constexpr int kLossPeriod = 12;

GstPadProbeReturn lose_some(GstPad*, GstPadProbeInfo* info, gpointer lost) {
  const auto number =
      static_cast<int>(GST_BUFFER_PTS(gst_pad_probe_info_get_buffer(info)) / kFrame % kLossPeriod);
  return number >= kLossPeriod - GPOINTER_TO_INT(lost) ? GST_PAD_PROBE_DROP : GST_PAD_PROBE_OK;
}

// Loses `lost` frames of every twelve before the element `watch`, as a leaky queue does.
void lose_frames(GstHarness* harness, int lost) {
  GstElement* watch = gst_bin_get_by_name(GST_BIN(harness->element), "watch");
  GstPad* pad = gst_element_get_static_pad(watch, "sink");
  gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, lose_some, GINT_TO_POINTER(lost), nullptr);
  gst_object_unref(pad);
  gst_object_unref(watch);
}

// Somebody stands at a line while the camera pans: the line goes where the ground goes.
// Frames that are lost on the way from dvtrack to dvzones change nothing.
DVNN_TEST(a_panning_camera_takes_nobody_over_a_line) {
  const struct {
    bool known;
    int lost;  // frames in a row, of twelve
  } cases[] = {{true, 0}, {false, 0}, {true, 1}, {true, 11}};
  for (const auto& [known, lost] : cases) {
    TrackHarness h(
        "dvtrack min-evidence=0 camera=moving ! dvzones name=watch zones=\"{\\\"lines\\\": "
        "[{\\\"name\\\": \\\"door\\\", \\\"points\\\": [[0.5, 0], [0.5, 1]]}]}\"");
    lose_frames(h.get(), lost);
    for (int i = 0; i < 60; ++i) {
      GstBuffer* frame = gst_buffer_new_allocate(nullptr, kWidth * kHeight, nullptr);
      GST_BUFFER_PTS(frame) = static_cast<GstClockTime>(i) * kFrame;
      gst_buffer_memset(frame, 0, 90, kWidth * kHeight);
      if (known && i > 0) gst_buffer_add_dv_camera_meta(frame, 1, 0, -2, 0, 1, 0);
      GstDvObjectsMeta* meta = gst_buffer_add_dv_objects_meta(frame);
      GstDvObject* object =
          gst_dv_objects_meta_add_object(meta, GST_DV_OBJECT_DETECTION, 1, "person", 0.9f);
      gst_dv_object_set_box(object, 200 - 2 * i, 50, 240 - 2 * i, 130);
      ck_assert_int_eq(gst_harness_push(h.get(), frame), GST_FLOW_OK);
      if (GstBuffer* out = gst_harness_try_pull(h.get())) gst_buffer_unref(out);
    }
    ck_assert_uint_eq(gst_harness_buffers_received(h.get()),
                      60u / kLossPeriod * static_cast<unsigned>(kLossPeriod - lost));
    ck_assert_uint_eq(h.count("dvnn-zone-event"), known ? 0 : 1);
  }
}

DVNN_TEST(camera_motion_follows_scaled_frames) {
  TrackHarness h("videoscale ! capsfilter caps=video/x-raw,width=160,height=120");
  GstBuffer* frame = gst_buffer_new_allocate(nullptr, kWidth * kHeight, nullptr);
  gst_buffer_memset(frame, 0, 90, kWidth * kHeight);
  gst_dv_camera_meta_set_since(gst_buffer_add_dv_camera_meta(frame, 1.01, 0.02, 8, -0.02, 1.01, 4),
                               7, 1, 0.04, 16, 0, 1, 8);
  frame = gst_harness_push_and_pull(h.get(), frame);
  const GstDvCameraMeta* camera = gst_buffer_get_dv_camera_meta(frame);
  ck_assert_ptr_nonnull(camera);
  ck_assert_double_eq_tol(camera->xx, 1.01, 1e-9);
  ck_assert_double_eq_tol(camera->xy, 0.02, 1e-9);
  ck_assert_double_eq_tol(camera->x0, 4, 1e-9);
  ck_assert_double_eq_tol(camera->y0, 2, 1e-9);
  ck_assert_uint_eq(camera->epoch, 7);
  ck_assert_double_eq_tol(camera->since_xy, 0.04, 1e-9);
  ck_assert_double_eq_tol(camera->since_x0, 8, 1e-9);
  ck_assert_double_eq_tol(camera->since_y0, 4, 1e-9);
  gst_buffer_unref(frame);
}

}  // namespace dvnn::test::track_tests
