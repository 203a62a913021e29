// SPDX-License-Identifier: Apache-2.0
// dvzones: its messages, counts and meta, and how it is configured. What counts is tests/zones's.
#include "gst/dvnn/gstdvobjectsmeta.h"
#include "gst_fixture.h"

namespace dvnn::test::zones_tests {

DVNN_GST_SUITE(gst_zones);

namespace {

constexpr int kWidth = 200, kHeight = 100;
constexpr GstClockTime kFrame = 100 * GST_MSECOND;

const char* const kZones =
    R"({"areas":[{"name":"square","points":[[0.2,0.4],[0.4,0.4],[0.4,0.8],[0.2,0.8]],"dwell":150}],)"
    R"("lines":[{"name":"gate","unit":"pixels","points":[[100,90],[100,10]]}]})";

class ZonesHarness {
 public:
  explicit ZonesHarness(const char* zones = kZones) {
    gst_element_set_bus(harness_->element, bus_);
    if (zones) g_object_set(harness_->element, "zones", zones, nullptr);
    gst_harness_set_src_caps_str(harness_, video_caps("GRAY8", kWidth, kHeight).c_str());
  }
  ~ZonesHarness() {
    gst_element_set_bus(harness_->element, nullptr);
    gst_harness_teardown(harness_);
    gst_object_unref(bus_);
  }
  ZonesHarness(const ZonesHarness&) = delete;
  ZonesHarness& operator=(const ZonesHarness&) = delete;
  GstHarness* get() const { return harness_; }
  GstElement* element() const { return harness_->element; }

  // A frame with one tracked object, whose foot is at (x, 60), in and out again; the caller's.
  GstBuffer* push(int number, double x, bool predicted = false) {
    GstBuffer* frame = gst_buffer_new_allocate(nullptr, kWidth * kHeight, nullptr);
    GST_BUFFER_PTS(frame) = static_cast<GstClockTime>(number) * kFrame;
    GstDvObjectsMeta* meta = gst_buffer_add_dv_objects_meta(frame);
    gst_dv_objects_meta_add_pass(meta, "people",
                                 predicted ? GST_DV_PASS_PREDICTED : GST_DV_PASS_INFERRED);
    GstDvObject* object =
        gst_dv_objects_meta_add_object(meta, GST_DV_OBJECT_DETECTION, 1, "person", 0.9f);
    object->network = 0;
    object->track_id = 7;
    object->predicted = predicted;
    gst_dv_object_set_box(object, x - 5, 20, x + 5, 60);
    return gst_harness_push_and_pull(harness_, frame);
  }
  void see(int number, double x, bool predicted = false) {
    gst_buffer_unref(push(number, x, predicted));
  }
  // The next event, as text.
  std::string event() {
    GstMessage* message = gst_bus_pop_filtered(bus_, GST_MESSAGE_ELEMENT);
    if (!message) return "";
    const std::string text = text_of(gst_message_get_structure(message));
    gst_message_unref(message);
    return text;
  }
  static std::string text_of(const GstStructure* fields) {
    ck_assert(gst_structure_has_name(fields, "dvnn-zone-event"));
    const gchar* area = gst_structure_get_string(fields, "area");
    guint64 time = 0, running = 0, track = 0, duration = 0;
    ck_assert(gst_structure_get(fields, "timestamp", G_TYPE_UINT64, &time, "running-time",
                                G_TYPE_UINT64, &running, "track-id", G_TYPE_UINT64, &track,
                                nullptr));
    ck_assert_uint_eq(time, running);
    gst_structure_get_uint64(fields, "duration", &duration);
    std::string text = gst_structure_get_string(fields, "event");
    text += std::string(" ") + (area ? area : gst_structure_get_string(fields, "line")) + " " +
            std::to_string(track) + " @" + std::to_string(time / GST_MSECOND);
    if (area) return text + " for " + std::to_string(duration / GST_MSECOND);
    return text + " " + gst_structure_get_string(fields, "direction");
  }
  // A number of the element's counts: of all, or of persons.
  guint64 count(const char* list, const char* field, bool of_persons = false) {
    GstStructure* counts = nullptr;
    g_object_get(harness_->element, "counts", &counts, nullptr);
    ck_assert_ptr_nonnull(counts);
    const GstStructure* shape = first_of(counts, list);
    guint64 value = 0;
    ck_assert(
        gst_structure_get_uint64(of_persons ? first_of(shape, "labels") : shape, field, &value));
    gst_structure_free(counts);
    return value;
  }
  static const GstStructure* first_of(const GstStructure* fields, const char* list) {
    return gst_value_get_structure(
        gst_value_list_get_value(gst_structure_get_value(fields, list), 0));
  }
  size_t warnings() {
    size_t n = 0;
    while (GstMessage* message = gst_bus_pop_filtered(bus_, GST_MESSAGE_WARNING)) {
      gst_message_unref(message);
      ++n;
    }
    return n;
  }

 private:
  GstHarness* const harness_ = gst_harness_new("dvzones");
  GstBus* const bus_ = gst_bus_new();
};

}  // namespace

DVNN_TEST(events_are_posted_with_the_times_of_the_way) {
  ZonesHarness h;
  h.see(0, 20);
  h.see(1, 60);
  dvnn_assert_text(h.event(), "enter square 7 @50 for 0");
  h.see(3, 60);
  dvnn_assert_text(h.event(), "dwell square 7 @200 for 150");
  h.see(4, 120);
  dvnn_assert_text(h.event(), "leave square 7 @333 for 283");
  dvnn_assert_text(h.event(), "cross gate 7 @366 forward");
  dvnn_assert_text(h.event(), "");
  for (bool of_persons : {false, true}) {
    ck_assert_uint_eq(h.count("lines", "forward", of_persons), 1);
    ck_assert_uint_eq(h.count("lines", "backward", of_persons), 0);
    ck_assert_uint_eq(h.count("areas", "entered", of_persons), 1);
    ck_assert_uint_eq(h.count("areas", "left", of_persons), 1);
    ck_assert_uint_eq(h.count("areas", "inside", of_persons), 0);
  }
}

DVNN_TEST(frames_carry_events_and_counts) {
  ZonesHarness h;
  h.see(0, 90);
  GstBuffer* frame = h.push(1, 110);
  GstCustomMeta* meta = gst_buffer_get_custom_meta(frame, "GstDvZonesMeta");
  ck_assert_ptr_nonnull(meta);
  const GstStructure* fields = gst_custom_meta_get_structure(meta);
  const GValue* events = gst_structure_get_value(fields, "events");
  ck_assert_uint_eq(gst_value_list_get_size(events), 1);
  dvnn_assert_text(
      ZonesHarness::text_of(gst_value_get_structure(gst_value_list_get_value(events, 0))),
      "cross gate 7 @50 forward");
  ck_assert(gst_structure_has_field_typed(fields, "counts", GST_TYPE_STRUCTURE));
  gst_buffer_unref(frame);
}

// A pixel is a tenth of a metre, and the track goes one metre in a frame.
DVNN_TEST(tracks_are_told_how_they_move_on_the_ground) {
  ZonesHarness h(
      R"({"ground":{"unit":"pixels","points":[[0,0],[200,0],[200,100],[0,100]],"rectangle":[20,10]},)"
      R"("areas":[{"name":"road","points":[[0,0],[1,0],[1,1],[0,1]],"speed-limit":8}]})");
  double speed = 0, x = 0, y = 0, deviation = 0, heading = 0;
  int speeding = 0;
  for (int i = 0; i < 15; ++i) {
    GstBuffer* frame = h.push(i, 20 + 10 * i, i == 14);
    const GstDvObject* object =
        gst_dv_objects_meta_get_object(gst_buffer_get_dv_objects_meta(frame), 0);
    ck_assert(gst_dv_object_get_ground(object, &x, &y, nullptr, &speed, &deviation, &heading));
    gst_buffer_unref(frame);
    ck_assert_double_eq_tol(x, 2 + i, 0.3);
    ck_assert_double_eq_tol(y, 6, 0.1);
    for (std::string event = h.event(); !event.empty(); event = h.event()) {
      speeding += event.find("speeding road 7") == 0 ? 1 : 0;
    }
  }
  ck_assert_double_eq_tol(speed, 10, 0.5);
  ck_assert(deviation > 0 && deviation < 1);
  ck_assert_double_eq_tol(heading, 90, 3);
  ck_assert_int_eq(speeding, 1);
  // Whom the frame's edge cuts stands nobody knows where.
  GstBuffer* frame = h.push(15, 197);
  const GstDvObject* object =
      gst_dv_objects_meta_get_object(gst_buffer_get_dv_objects_meta(frame), 0);
  ck_assert(gst_dv_object_get_ground(object, &x, nullptr, nullptr, nullptr, nullptr, nullptr));
  gst_buffer_unref(frame);
  ck_assert_double_eq_tol(x, 17, 0.5);
}

DVNN_TEST(predicted_objects_count_only_if_asked) {
  for (bool predicted : {false, true}) {
    ZonesHarness h;
    g_object_set(h.element(), "count-predicted", predicted, nullptr);
    h.see(0, 90);
    h.see(1, 110, true);  // overshoots
    h.see(2, 95);
    dvnn_assert_text(h.event(), predicted ? "cross gate 7 @50 forward" : "");
  }
}

DVNN_TEST(shapes_change_while_playing_and_keep_their_counts) {
  ZonesHarness h;
  h.see(0, 60);
  dvnn_assert_text(h.event(), "enter square 7 @0 for 0");
  g_object_set(h.element(), "zones",
               R"({"areas":[{"name":"square","points":[[0,0],[1,0],[1,1],[0,1]]}]})", nullptr);
  h.see(1, 120);
  dvnn_assert_text(h.event(), "leave square 7 @0 for 0");
  dvnn_assert_text(h.event(), "enter square 7 @100 for 0");
  ck_assert_uint_eq(h.count("areas", "entered"), 2);
  ck_assert_uint_eq(h.count("areas", "inside"), 1);
  g_object_set(h.element(), "zones", "", nullptr);
  h.see(2, 120);
  dvnn_assert_text(h.event(), "leave square 7 @100 for 0");
}

// What reads counts sees each line and area from the first frame on, and new ones at once.
DVNN_TEST(counts_are_there_before_anything_happens) {
  ZonesHarness h;
  h.see(0, 180);
  ck_assert_uint_eq(h.count("lines", "forward"), 0);
  ck_assert_uint_eq(h.count("areas", "entered"), 0);
  g_object_set(h.element(), "zones",
               R"({"areas":[{"name":"far","points":[[0,0],[0.1,0],[0.1,0.1]]}]})", nullptr);
  h.see(1, 180);
  GstStructure* counts = nullptr;
  g_object_get(h.element(), "counts", &counts, nullptr);
  dvnn_assert_text(gst_structure_get_string(ZonesHarness::first_of(counts, "areas"), "name"),
                   "far");
  ck_assert_uint_eq(gst_value_list_get_size(gst_structure_get_value(counts, "lines")), 0);
  gst_structure_free(counts);
}

DVNN_TEST(mistakes_are_warned_of_and_change_nothing) {
  ZonesHarness h;
  g_object_set(h.element(), "zones", "{\"areas\":[{\"name\":\"x\"}]}", nullptr);
  g_object_set(h.element(), "zones-file", "/nonexistent/zones.json", nullptr);
  ck_assert_uint_eq(h.warnings(), 2);
  h.see(0, 90);
  h.see(1, 110);
  dvnn_assert_text(h.event(), "cross gate 7 @50 forward");
}

DVNN_TEST(shapes_come_from_a_file) {
  const std::string path = "/tmp/dvnn-zones-" + std::to_string(getpid()) + ".json";
  ck_assert(g_file_set_contents(path.c_str(), kZones, -1, nullptr));
  ZonesHarness h(nullptr);
  g_object_set(h.element(), "zones-file", path.c_str(), nullptr);
  unlink(path.c_str());
  h.see(0, 90);
  h.see(1, 110);
  dvnn_assert_text(h.event(), "cross gate 7 @50 forward");
}

DVNN_TEST(ends_and_jumps_end_stays) {
  ZonesHarness h;
  h.see(10, 60);
  dvnn_assert_text(h.event(), "enter square 7 @1000 for 0");
  h.see(2, 60);  // back in time
  dvnn_assert_text(h.event(), "leave square 7 @1000 for 0");
  dvnn_assert_text(h.event(), "enter square 7 @200 for 0");
  gst_harness_push_event(h.get(), gst_event_new_eos());
  dvnn_assert_text(h.event(), "leave square 7 @200 for 0");
}

}  // namespace dvnn::test::zones_tests
