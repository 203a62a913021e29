// SPDX-License-Identifier: Apache-2.0
// dvmotion: what frames carry, what is posted, and what the elements behind it save. Where motion
// is seen is tests/motion's.
#include "gst/dvnn/gstdvobjectsmeta.h"
#include "gst_fixture.h"

namespace dvnn::test::gst_motion_tests {

DVNN_GST_SUITE(gst_motion);

namespace {

constexpr int kWidth = 320, kHeight = 240;
constexpr GstClockTime kFrame = 40 * GST_MSECOND;

// Frames with a red square over a cell of 4 x 4, which can move.
class MotionHarness {
 public:
  explicit MotionHarness(const std::string& launch, const std::string& format = "RGB")
      : format_(format), harness_(gst_harness_new_parse(launch.c_str())) {
    gst_element_set_bus(harness_->element, bus_);
    gst_harness_set_src_caps_str(harness_, video_caps(format_, kWidth, kHeight).c_str());
  }
  ~MotionHarness() {
    gst_element_set_bus(harness_->element, nullptr);
    gst_harness_teardown(harness_);
    gst_object_unref(bus_);
  }
  MotionHarness(const MotionHarness&) = delete;
  MotionHarness& operator=(const MotionHarness&) = delete;

  GstHarness* get() const { return harness_; }
  GstBus* bus() const { return bus_; }
  GstElement* element(const char* name) const {
    GstElement* found = gst_bin_get_by_name(GST_BIN(harness_->element), name);
    ck_assert_ptr_nonnull(found);
    gst_object_unref(found);  // the bin keeps it
    return found;
  }
  // The next frame, with a square over this cell, in and out again; the caller's. `walker`: the
  // column of a second, small one in the last row of an RGB frame, if not below 0.
  GstBuffer* push(int column, int row, int walker = -1) {
    GstBuffer* frame = red_square(format_, kWidth, kHeight, column, row);
    for (int y = kHeight - 40; y < kHeight && walker >= 0; ++y) {
      const std::string red(size_t{3} * 40, '\xff');
      gst_buffer_fill(frame, static_cast<gsize>(3 * (y * kWidth + walker * 80)), red.data(),
                      red.size());
    }
    GST_BUFFER_PTS(frame) = static_cast<GstClockTime>(number_++) * kFrame;
    return gst_harness_push_and_pull(harness_, frame);
  }
  // The areas of the next frame, as regions of interest of the type `motion`.
  std::vector<std::string> areas(int column, int row) {
    GstBuffer* frame = push(column, row);
    std::vector<std::string> all;
    gpointer state = nullptr;
    while (GstMeta* meta = gst_buffer_iterate_meta_filtered(
               frame, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE)) {
      const auto* roi = reinterpret_cast<GstVideoRegionOfInterestMeta*>(meta);
      ck_assert_str_eq(g_quark_to_string(roi->roi_type), "motion");
      ck_assert_uint_le(roi->x + roi->w, kWidth);
      ck_assert_uint_le(roi->y + roi->h, kHeight);
      all.push_back(std::to_string(roi->x) + "," + std::to_string(roi->y) + " " +
                    std::to_string(roi->w) + "x" + std::to_string(roi->h));
    }
    gst_buffer_unref(frame);
    return all;
  }
  // Pushes frames in which nothing moves.
  void rest(int count, int column, int row) {
    for (int i = 0; i < count; ++i) gst_buffer_unref(push(column, row));
  }
  std::string message() {
    GstMessage* message = gst_bus_pop_filtered(bus_, GST_MESSAGE_ELEMENT);
    if (!message) return "";
    const GstStructure* fields = gst_message_get_structure(message);
    guint64 time = 0;
    ck_assert(gst_structure_get_uint64(fields, "timestamp", &time));
    std::string text = gst_structure_get_name(fields);
    text += " @" + std::to_string(time / GST_MSECOND);
    gst_message_unref(message);
    return text;
  }
  guint64 count(const char* reason, const char* name = "m") {
    GstStructure* counts = nullptr;
    g_object_get(element(name), "counts", &counts, nullptr);
    guint64 value = 0;
    ck_assert(gst_structure_get_uint64(counts, reason, &value));
    gst_structure_free(counts);
    return value;
  }

 private:
  const std::string format_;
  GstHarness* const harness_;
  GstBus* const bus_ = gst_bus_new();
  int number_ = 0;
};

}  // namespace

DVNN_TEST(frames_carry_what_moves) {
  for (const char* format : {"RGB", "NV12", "GRAY16_LE", "P010_10LE"}) {
    MotionHarness h("bin.( dvmotion name=m hold-ms=200 ! identity )", format);
    ck_assert_uint_eq(h.areas(0, 0).size(), 1);  // nothing is known yet
    h.rest(20, 0, 0);
    ck_assert_msg(h.areas(0, 0).empty(), "%s", format);
    // The square goes from one corner to the other: both places have changed.
    ck_assert_msg(h.areas(3, 3).size() == 2, "%s", format);
    ck_assert_uint_eq(h.count("moving"), 1);
    h.rest(60, 3, 3);
    ck_assert_msg(h.areas(3, 3).empty(), "%s", format);
    ck_assert_uint_eq(h.count("frames"), 84);
    ck_assert_uint_eq(h.count("still") + h.count("moving") + h.count("held") +
                          h.count("everywhere") + h.count("verify"),
                      84);
  }
}

DVNN_TEST(motion_is_told_when_it_starts_and_ends) {
  MotionHarness h("bin.( dvmotion name=m hold-ms=200 ! identity )");
  h.rest(20, 0, 0);
  for (int i = 0; i < 4; ++i) h.rest(5, i, 1);
  dvnn_assert_text(h.message(), "dvnn-motion-started @800");
  dvnn_assert_text(h.message(), "");
  h.rest(60, 3, 1);
  ck_assert(h.message().rfind("dvnn-motion-ended @", 0) == 0);
  dvnn_assert_text(h.message(), "");
  g_object_set(h.element("m"), "post-messages", FALSE, nullptr);
  h.rest(5, 0, 3);
  dvnn_assert_text(h.message(), "");
}

// What nothing moves in is not inferred; its track stays, with its name, beyond max-lost-ms.
DVNN_TEST(still_frames_are_not_inferred_and_keep_their_tracks) {
  MotionHarness h("dvmotion name=m hold-ms=200 verify-ms=0 ! dvconvert ! dvinfer name=i network=" +
                  network_path() + " ! dvdecode ! dvtrack max-lost-ms=500");
  h.rest(80, 1, 1);
  const guint64 inferred = stat_of(h.element("i"), "inferred");
  ck_assert_uint_lt(inferred, 20);
  for (int i = 0; i < 100; ++i) {
    GstBuffer* frame = h.push(1, 1);
    GstDvObjectsMeta* meta = gst_buffer_get_dv_objects_meta(frame);
    ck_assert_int_eq(gst_dv_objects_meta_get_pass(meta, 0)->state, GST_DV_PASS_PREDICTED);
    ck_assert_uint_eq(gst_dv_objects_meta_get_n_objects(meta), 1);
    const GstDvObject* object = gst_dv_objects_meta_get_object(meta, 0);
    ck_assert_uint_eq(object->track_id, 1);
    ck_assert(object->predicted);
    ck_assert_double_eq_tol(object->x0, kWidth / 4.0, 2);
    gst_buffer_unref(frame);
  }
  ck_assert_uint_eq(stat_of(h.element("i"), "inferred"), inferred);
  // It moves: it is looked at again.
  GstBuffer* frame = h.push(2, 1);
  ck_assert_int_eq(gst_dv_objects_meta_get_pass(gst_buffer_get_dv_objects_meta(frame), 0)->state,
                   GST_DV_PASS_INFERRED);
  gst_buffer_unref(frame);
  ck_assert_uint_eq(stat_of(h.element("i"), "inferred"), inferred + 1);
}

// What stands in frames that pass stays in its bay, and its time counts.
DVNN_TEST(bays_and_heat_go_on_in_still_frames) {
  MotionHarness h(
      "dvmotion name=m hold-ms=200 verify-ms=0 post-messages=false ! dvconvert ! dvinfer name=i "
      "network=" +
      network_path() +
      " ! dvdecode ! dvtrack max-lost-ms=500 post-messages=false ! dvzones name=z "
      "leave-after-ms=600");
  g_object_set(
      h.element("z"), "zones",
      R"({"areas":[{"name":"bay","points":[[0,0],[1,0],[1,1],[0,1]],"occupied":3000,"free":300}],)"
      R"("heat":{"period":4000}})",
      nullptr);
  h.rest(250, 1, 1);
  ck_assert_uint_lt(stat_of(h.element("i"), "inferred"), 20);
  std::string told;
  double seconds = 0;
  const auto read = [&] {
    while (GstMessage* message = gst_bus_pop_filtered(h.bus(), GST_MESSAGE_ELEMENT)) {
      const GstStructure* fields = gst_message_get_structure(message);
      if (gst_structure_has_name(fields, "dvnn-zone-event")) {
        told += std::string(" ") + gst_structure_get_string(fields, "event");
      } else if (gst_structure_has_name(fields, "dvnn-zone-heat")) {
        const GValue* labels = gst_structure_get_value(fields, "labels");
        gdouble one = 0;
        ck_assert_uint_eq(gst_value_list_get_size(labels), 1);
        ck_assert(gst_structure_get_double(
            gst_value_get_structure(gst_value_list_get_value(labels, 0)), "seconds", &one));
        seconds += one;
      }
      gst_message_unref(message);
    }
  };
  read();
  dvnn_assert_text(told, " enter occupied");
  gst_harness_push_event(h.get(), gst_event_new_eos());
  // dvinfer sends it on by a thread of its own.
  for (bool ended = false; !ended;) {
    GstEvent* event = gst_harness_pull_event(h.get());
    ck_assert_ptr_nonnull(event);
    ended = GST_EVENT_TYPE(event) == GST_EVENT_EOS;
    gst_event_unref(event);
  }
  read();
  dvnn_assert_text(told, " enter occupied leave");
  // 249 times 40 ms, but for the first frames, in which the track is not known yet.
  ck_assert_msg(seconds > 9.7 && seconds < 9.961, "%g", seconds);
}

// dvinfer alone obeys, too; and a frame that is verified is inferred.
DVNN_TEST(verification_is_inferred_without_dvconvert) {
  MotionHarness h("dvmotion name=m hold-ms=200 verify-ms=2000 ! dvinfer name=i network=" +
                  network_path() + " ! identity");
  h.rest(40, 1, 1);
  const guint64 inferred = stat_of(h.element("i"), "inferred");
  ck_assert_uint_eq(inferred, h.count("everywhere"));
  h.rest(40, 1, 1);
  ck_assert_uint_ge(h.count("verify"), 1);
  ck_assert_uint_eq(stat_of(h.element("i"), "inferred"), inferred + h.count("verify"));
}

DVNN_TEST(areas_alone_are_shown_to_the_network) {
  MotionHarness h(
      "dvmotion name=m margin=0.2 hold-ms=200 ! dvconvert regions=list region-metas=motion ! "
      "dvinfer name=i network=" +
      network_path() + " ! dvdecode ! dvtrack");
  h.rest(40, 1, 1);
  ck_assert_uint_eq(h.count("moving"), 0);
  GstBuffer* frame = h.push(3, 3);
  const GstDvObjectsMeta* meta = gst_buffer_get_dv_objects_meta(frame);
  ck_assert_uint_eq(gst_dv_objects_meta_get_pass(meta, 0)->regions, 2);
  gst_buffer_unref(frame);
}

// Somebody who stands in an area while nothing moves dwells there, and does not leave, also where
// predictions do not count, and where frames have been scaled or copied since.
DVNN_TEST(still_frames_count_in_zones) {
  for (const char* scaling :
       {"", "videoscale ! capsfilter caps=video/x-raw,width=160,height=120 ! ",
        "tee name=t t. ! fakesink async=false t. ! "}) {
    for (const char* predicted : {"true", "false"}) {
      MotionHarness h(
          std::string("dvmotion name=m hold-ms=200 verify-ms=0 post-messages=false ! ") + scaling +
          "dvconvert ! dvinfer name=i network=" + network_path() +
          " ! dvdecode ! dvtrack post-messages=false ! dvzones leave-after-ms=1000 "
          "count-predicted=" +
          predicted +
          " zones=\"{\\\"areas\\\":[{\\\"name\\\":\\\"all\\\",\\\"points\\\":"
          "[[0,0],[1,0],[1,1],[0,1]],\\\"dwell\\\":4000}]}\"");
      h.rest(200, 1, 1);
      ck_assert_uint_lt(stat_of(h.element("i"), "inferred"), 20);
      ck_assert(h.message().rfind("dvnn-zone-event", 0) == 0);  // enters
      const std::string dwells = h.message();
      ck_assert_msg(dwells.rfind("dvnn-zone-event @40", 0) == 0, "%s%s: %s", scaling, predicted,
                    dwells.c_str());
      dvnn_assert_text(h.message(), "");
    }
  }
}

// Somebody stands in an area, and elsewhere something moves: only that is shown to the network. Who
// stands is predicted then, but is known to be there.
DVNN_TEST(who_stands_counts_while_something_moves_elsewhere) {
  MotionHarness h(
      "dvmotion name=m hold-ms=200 verify-ms=0 post-messages=false ! dvconvert regions=list "
      "region-metas=motion ! dvinfer network=" +
      network_path() +
      " ! dvdecode ! dvtrack post-messages=false ! dvzones leave-after-ms=1000 "
      "count-predicted=false zones=\"{\\\"areas\\\":[{\\\"name\\\":\\\"corner\\\",\\\"points\\\":"
      "[[0,0],[0.4,0],[0.4,0.4],[0,0.4]],\\\"dwell\\\":4000}]}\"");
  h.rest(40, 0, 0);
  const guint64 still = h.count("still");
  for (int i = 0; i < 160; ++i) gst_buffer_unref(h.push(0, 0, i / 5 % 4));
  ck_assert_uint_eq(h.count("still"), still);
  ck_assert(h.message().rfind("dvnn-zone-event", 0) == 0);  // enters
  const std::string dwells = h.message();
  ck_assert_msg(dwells.rfind("dvnn-zone-event @40", 0) == 0, "%s", dwells.c_str());
  dvnn_assert_text(h.message(), "");
}

DVNN_TEST(masks_come_from_the_zones) {
  MotionHarness h("bin.( dvmotion name=m ! identity )");
  g_object_set(h.element("m"), "zones",
               "{\"masks\":[{\"name\":\"tree\",\"points\":[[0.5,0],[1,0],[1,1],[0.5,1]]}],"
               "\"lines\":[]}",
               nullptr);
  h.rest(20, 2, 2);
  h.rest(5, 3, 3);
  ck_assert_uint_eq(h.count("moving"), 0);
  h.rest(1, 0, 0);
  ck_assert_uint_eq(h.count("moving"), 1);
}

DVNN_TEST(areas_follow_frames_that_are_cropped) {
  MotionHarness h(
      "dvmotion name=m hold-ms=200 verify-ms=0 ! videocrop left=80 ! dvconvert ! dvinfer name=i "
      "network=" +
      network_path() + " ! identity");
  h.rest(60, 1, 1);
  const guint64 inferred = stat_of(h.element("i"), "inferred");
  h.rest(20, 1, 1);
  // Where GStreamer does not tell what videocrop did, nothing is known, and all are inferred.
  const guint64 more = stat_of(h.element("i"), "inferred") - inferred;
  ck_assert(more == 0 || more == 20);
}

}  // namespace dvnn::test::gst_motion_tests
