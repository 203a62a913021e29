// SPDX-License-Identifier: Apache-2.0
// Several looks of a second network at an object of a track become one reading, and no more follow.
#include <cmath>
#include <random>

#include "decode_fixture.h"
#include "gst/dvnn/gstdvobjectsmeta.h"
#include "gst/dvnn/gstdvtensormeta.h"
#include "streams.h"
#include "watched_suite.h"

namespace dvnn::test::agree_tests {

DVNN_WATCHED_SUITE(gst_agree);

namespace {

constexpr int kWidth = 128, kHeight = 64;
constexpr guint64 kTrack = 7;

// dvdecode behind a network that looks at an object of a track.
class Looked {
 public:
  // `columns`: the inner dimension of the outputs.
  Looked(const std::string& properties, const char* decoder, const char* parameters,
         gsize columns = 1)
      : columns_(columns),
        harness_(chain("dvdecode " + properties, video_caps("RGB", kWidth, kHeight))) {
    static const gchar* const labels[] = {"cat", "dog", "fox", nullptr};
    network_ = gst_dv_network_info_new("second", decoder, parameters, labels);
  }
  ~Looked() {
    gst_dv_network_info_unref(network_);
    gst_harness_teardown(harness_);
    if (frame_) gst_buffer_unref(frame_);
  }

  // A frame in which the network has looked at the object and put these values out; without any, it
  // has not looked.
  void look(const std::vector<float>& values, double size = 20, guint64 track = kTrack) {
    if (frame_) gst_buffer_unref(frame_);
    GstBuffer* frame = noise("RGB", kWidth, kHeight);
    GST_BUFFER_PTS(frame) = frames_++ * 40 * GST_MSECOND;
    GstDvObjectsMeta* meta = gst_buffer_add_dv_objects_meta(frame);
    gst_dv_objects_meta_add_pass(meta, "first", GST_DV_PASS_INFERRED);
    GstDvObject* object =
        gst_dv_objects_meta_add_object(meta, GST_DV_OBJECT_DETECTION, 1, "thing", 0.9f);
    gst_dv_object_set_box(object, 10, 10, 10 + size, 10 + size);
    object->track_id = track;
    gst_dv_objects_meta_add_pass(meta, "second", GST_DV_PASS_INFERRED);
    if (!values.empty()) {
      GstDvTensorMeta* outputs = gst_buffer_add_dv_tensor_meta(frame, 1);
      outputs->network = gst_dv_network_info_ref(network_);
      outputs->input_width = outputs->input_height = 10;
      outputs->region_kind = GST_DV_REGION_OBJECT;
      outputs->object = object->id;
      outputs->transform = {10 / size, -100 / size, 10 / size, -100 / size, FALSE, 0, 0};
      outputs->x0 = outputs->y0 = 10;
      outputs->x1 = outputs->y1 = 10 + size;
      set_floats(&outputs->tensors[0], "out", {1, values.size() / columns_, columns_},
                 values.data());
    }
    frame_ = gst_harness_push_and_pull(harness_, frame);
    ck_assert_ptr_nonnull(frame_);
  }
  GstDvObject* object(guint index) const {
    return gst_dv_objects_meta_get_object(gst_buffer_get_dv_objects_meta(frame_), index);
  }
  guint count() const {
    return gst_dv_objects_meta_get_n_objects(gst_buffer_get_dv_objects_meta(frame_));
  }
  // The class that is attached, and its looks: "cat 2 yes".
  std::string said() const {
    if (count() < 2) return "";
    const GstDvObject* found = object(1);
    ck_assert_uint_eq(found->parent, object(0)->id);
    gboolean agreed = FALSE;
    ck_assert(std::abs(gst_dv_object_get_agreement(found, &agreed) - found->confidence) < 1e-6f);
    return std::string(found->label) + " " + std::to_string(gst_dv_object_get_looks(found)) +
           (agreed ? " yes" : " no");
  }
  // What dvconvert was told since the last call: "7 settled ".
  std::string told() {
    std::string all;
    while (GstEvent* event = gst_harness_try_pull_upstream_event(harness_)) {
      if (GST_EVENT_TYPE(event) == GST_EVENT_CUSTOM_UPSTREAM) {
        const GstStructure* fields = gst_event_get_structure(event);
        ck_assert(gst_structure_has_name(fields, "dvnn-settled"));
        guint64 track = 0;
        gboolean settled = FALSE;
        gst_structure_get(fields, "track-id", G_TYPE_UINT64, &track, "settled", G_TYPE_BOOLEAN,
                          &settled, nullptr);
        all += std::to_string(track) + (settled ? " settled " : " open ");
      }
      gst_event_unref(event);
    }
    return all;
  }

 private:
  const gsize columns_;
  GstHarness* const harness_;
  GstDvNetworkInfo* network_;
  GstBuffer* frame_ = nullptr;
  guint64 frames_ = 0;
};

std::vector<float> cat(float confidence) {
  return {confidence, 1 - confidence, 0};
}
std::vector<float> dog(float confidence) {
  return {1 - confidence, confidence, 0};
}

constexpr const char* kBestClass = "{\"top_k\": 1}";

}  // namespace

DVNN_TEST(classes_of_several_looks_become_one) {
  Looked looked("agree=2", "classification", kBestClass);
  looked.look(cat(0.9f));
  dvnn_assert_text(looked.said(), "cat 1 no");
  dvnn_assert_text(looked.told(), "");
  looked.look(dog(0.6f));
  dvnn_assert_text(looked.said(), "cat 2 no");
  ck_assert(!looked.object(1)->predicted);
  looked.look({});
  dvnn_assert_text(looked.said(), "cat 2 no");
  ck_assert(looked.object(1)->predicted);
  looked.look(cat(0.9f));
  dvnn_assert_text(looked.told(), "");
  looked.look(cat(0.9f));
  dvnn_assert_text(looked.said(), "cat 4 yes");
  dvnn_assert_text(looked.told(), "7 settled ");
  looked.look({});
  dvnn_assert_text(looked.said(), "cat 4 yes");
}

DVNN_TEST(the_last_look_counts_alone_without_agree) {
  Looked looked("", "classification", kBestClass);
  for (const char* name : {"cat", "dog"}) {
    looked.look(name[0] == 'c' ? cat(0.9f) : dog(0.6f));
    ck_assert_str_eq(looked.object(1)->label, name);
    ck_assert_uint_eq(gst_dv_object_get_looks(looked.object(1)), 0);
  }
  dvnn_assert_text(looked.told(), "");
}

DVNN_TEST(what_was_agreed_is_open_again_if_a_larger_box_contradicts) {
  Looked looked("agree=2", "classification", kBestClass);
  for (int i = 0; i < 3; ++i) looked.look(cat(0.9f));
  dvnn_assert_text(looked.told(), "7 settled ");
  looked.look(dog(0.55f), 29);
  dvnn_assert_text(looked.told(), "7 settled ");
  looked.look(dog(0.95f), 30);
  ck_assert(looked.said().find("no") != std::string::npos);
  dvnn_assert_text(looked.told(), "7 open ");
  for (int i = 0; i < 3; ++i) looked.look(dog(0.95f), 30);
  ck_assert_str_eq(looked.object(1)->label, "dog");
  ck_assert(looked.told().find("7 settled") == 0);
}

DVNN_TEST(a_pattern_without_agree_is_an_error) {
  for (const char* name : {"dvdecode", "dvread"}) {
    GstElement* element = gst_element_factory_make(name, nullptr);
    if (!element) continue;  // dvread needs ZBar
    g_object_set(element, "pattern", "[0-9]+", nullptr);
    ck_assert_int_eq(gst_element_set_state(element, GST_STATE_READY), GST_STATE_CHANGE_FAILURE);
    g_object_set(element, "agree", 2u, nullptr);
    ck_assert_int_eq(gst_element_set_state(element, GST_STATE_READY), GST_STATE_CHANGE_SUCCESS);
    gst_element_set_state(element, GST_STATE_NULL);
    gst_object_unref(element);
  }
}

DVNN_TEST(an_object_without_a_track_has_one_look) {
  Looked looked("agree=2", "classification", kBestClass);
  for (int i = 0; i < 5; ++i) {
    looked.look(cat(0.9f), 20, 0);
    dvnn_assert_text(looked.said(), "cat 1 no");
  }
  dvnn_assert_text(looked.told(), "");
}

DVNN_TEST(numbers_become_the_objects_own_robust_mean) {
  Looked looked("agree=2", "number", "{\"names\": [\"age\"]}");
  gdouble age = 0;
  for (const float value : {30.0f, 31.0f, 90.0f, 29.0f, 30.0f, 30.5f, 29.5f, 30.0f, 30.0f, 30.5f}) {
    looked.look({value});
    ck_assert(gst_dv_object_find_number(looked.object(0), "age", &age));
  }
  ck_assert_uint_eq(looked.count(), 1);
  ck_assert(std::abs(age - 30) < 1);
  gboolean agreed = FALSE;
  gst_dv_object_get_agreement(looked.object(0), &agreed);
  ck_assert(agreed);
  ck_assert_uint_eq(gst_dv_object_get_looks(looked.object(0)), 10);
}

DVNN_TEST(texts_are_voted_on_by_character_and_pattern) {
  Looked looked("agree=2 pattern={\\\"thing\\\":\\\"[AB][0-9]\\\"}", "ctc",
                "{\"alphabet\": \"AB01\"}", 5);
  // Steps of the blank, A, B, 0 and 1.
  const auto reads = [](int first, int second) {
    std::vector<float> values(10, 0.025f);
    values[static_cast<size_t>(first)] = values[5 + static_cast<size_t>(second)] = 0.9f;
    return values;
  };
  looked.look(reads(1, 2));  // AB
  ck_assert_str_eq(gst_dv_object_get_text(looked.object(0)), "AB");
  looked.look(reads(1, 2));
  looked.look(reads(1, 3));  // A0, the only one that matches
  ck_assert_str_eq(gst_dv_object_get_text(looked.object(0)), "A0");
  for (int i = 0; i < 3; ++i) looked.look(reads(1, 3));
  gboolean agreed = FALSE;
  gst_dv_object_get_agreement(looked.object(0), &agreed);
  ck_assert_str_eq(gst_dv_object_get_text(looked.object(0)), "A0");
  ck_assert(agreed);
  ck_assert(looked.told().find("7 settled ") == 0);
}

namespace {

GstBuffer* tracked_frame(guint64 ms, double size) {
  GstBuffer* frame = grid_frame(kWidth, kHeight, 1);
  GST_BUFFER_PTS(frame) = ms * GST_MSECOND;
  GstDvObjectsMeta* meta = gst_buffer_add_dv_objects_meta(frame);
  gst_dv_objects_meta_add_pass(meta, "first", GST_DV_PASS_INFERRED);
  for (guint64 track : {guint64{1}, guint64{2}}) {
    GstDvObject* object =
        gst_dv_objects_meta_add_object(meta, GST_DV_OBJECT_DETECTION, 1, "thing", 0.9f);
    const double top = track == 1 ? 0 : 32;
    gst_dv_object_set_box(object, 0, top, 2 * size, top + size);
    object->network = 0;
    object->track_id = track;
  }
  return frame;
}

guint regions_of(GstHarness* h, guint64 ms, double size) {
  GstBuffer* out = gst_harness_push_and_pull(h, tracked_frame(ms, size));
  GstDvObjectsMeta* meta = gst_buffer_get_dv_objects_meta(out);
  const guint regions = gst_dv_objects_meta_get_pass(meta, 1)->regions;
  gst_buffer_unref(out);
  return regions;
}

bool settle(GstHarness* h, guint64 track, bool settled) {
  return gst_harness_push_upstream_event(
      h, gst_event_new_custom(
             GST_EVENT_CUSTOM_UPSTREAM,
             gst_structure_new("dvnn-settled", "track-id", G_TYPE_UINT64, track, "settled",
                               G_TYPE_BOOLEAN, static_cast<gboolean>(settled), nullptr)));
}

}  // namespace

// The event takes dvdecode's way: through dvinfer.
DVNN_TEST(dvconvert_shows_a_settled_track_again_when_it_has_grown_by_half) {
  for (const char* budget : {"", "refresh-ms=40"}) {
    GstHarness* h = chain(std::string("dvconvert regions=objects ") + budget + " ! " +
                              infer(Looks::kRed) + " ! identity",
                          video_caps("RGB", kWidth, kHeight));
    ck_assert_uint_eq(regions_of(h, 0, 10), 2);
    ck_assert_uint_eq(regions_of(h, 40, 10), 2);
    ck_assert(settle(h, 1, true));
    for (guint64 i = 2; i < 12; ++i) ck_assert_uint_eq(regions_of(h, i * 40, 10), 1);
    ck_assert_uint_eq(regions_of(h, 480, 14.9), 1);
    ck_assert_uint_eq(regions_of(h, 520, 15), 2);
    ck_assert_uint_eq(regions_of(h, 560, 15), 2);  // until it is settled again
    ck_assert(settle(h, 1, true) && settle(h, 2, true));
    ck_assert_uint_eq(regions_of(h, 600, 15), 0);
    ck_assert(settle(h, 2, false));
    ck_assert_uint_eq(regions_of(h, 640, 15), 1);
    gst_harness_teardown(h);
  }
}

}  // namespace dvnn::test::agree_tests
