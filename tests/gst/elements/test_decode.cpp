// SPDX-License-Identifier: Apache-2.0
// dvdecode on outputs of its dvinfer and on outputs that a test, or an attacker, writes.
#include <gst/controller/gstdirectcontrolbinding.h>
#include <gst/controller/gstinterpolationcontrolsource.h>

#include <cstring>

#include "decode_fixture.h"
#include "gst/dvnn/gstdvobjectsmeta.h"
#include "gst/dvnn/gstdvtensormeta.h"
#include "gst_fixture.h"

namespace dvnn::test::decode_tests {

DVNN_GST_SUITE(gst_decode);

namespace {

constexpr int kSize = 64;  // of frames, pixels

// A harness with a bus of its own.
class Decode {
 public:
  explicit Decode(const std::string& elements) : harness_(gst_harness_new_parse(elements.c_str())) {
    gst_element_set_bus(harness_->element, bus_);
    gst_harness_set_src_caps_str(harness_, video_caps("RGB", kSize, kSize).c_str());
  }
  ~Decode() {
    gst_element_set_bus(harness_->element, nullptr);
    gst_harness_teardown(harness_);
    gst_object_unref(bus_);
  }
  Decode(const Decode&) = delete;
  Decode& operator=(const Decode&) = delete;

  GstHarness* operator->() const { return harness_; }
  GstHarness* get() const { return harness_; }
  GstBuffer* push_and_pull(GstBuffer* frame) { return gst_harness_push_and_pull(harness_, frame); }
  // The next message of these types; null if there is none.
  GstMessage* pop(GstMessageType types) { return gst_bus_pop_filtered(bus_, types); }
  int count(GstMessageType types) {
    int n = 0;
    while (GstMessage* message = pop(types)) {
      gst_message_unref(message);
      ++n;
    }
    return n;
  }

 private:
  GstHarness* harness_;
  GstBus* bus_ = gst_bus_new();
};

GstBuffer* black_frame(GstClockTime pts = 0) {
  GstBuffer* frame = gst_buffer_new_allocate(nullptr, kSize * kSize * 3, nullptr);
  gst_buffer_memset(frame, 0, 0, kSize * kSize * 3);
  GST_BUFFER_PTS(frame) = pts;
  GST_BUFFER_DURATION(frame) = 40 * GST_MSECOND;
  return frame;
}

GstDvNetworkInfo* rows_network() {
  static const gchar* const labels[] = {"background", "cat", nullptr};
  static GstDvNetworkInfo* const network =
      gst_dv_network_info_new("rows", "detection-output", "{}", labels);
  return network;
}

// Adds the outputs of a network whose input is as large as the frame.
GstDvTensorMeta* add_rows(GstBuffer* frame, const std::vector<OutputRow>& rows) {
  return add_output_rows(frame, rows_network(), kSize, rows);
}

const GstDvObject* object_of(GstBuffer* frame, guint index) {
  GstDvObjectsMeta* meta = gst_buffer_get_dv_objects_meta(frame);
  return meta ? gst_dv_objects_meta_get_object(meta, index) : nullptr;
}

guint count_objects(GstBuffer* frame) {
  GstDvObjectsMeta* meta = gst_buffer_get_dv_objects_meta(frame);
  return meta ? gst_dv_objects_meta_get_n_objects(meta) : 0;
}

void check_box(const GstDvObject* object, double x0, double y0, double x1, double y1) {
  ck_assert_ptr_nonnull(object);
  ck_assert_double_eq_tol(object->x0, x0, 1e-4);
  ck_assert_double_eq_tol(object->y0, y0, 1e-4);
  ck_assert_double_eq_tol(object->x1, x1, 1e-4);
  ck_assert_double_eq_tol(object->y1, y1, 1e-4);
}

std::string infer() {
  return "dvinfer network=" + network_path();
}

}  // namespace

DVNN_TEST(objects_and_regions_tell_the_same) {
  Decode h(infer() + " ! dvdecode");
  GstBuffer* out = h.push_and_pull(red_square("RGB", kSize, kSize, 2, 1));
  GstDvObjectsMeta* meta = gst_buffer_get_dv_objects_meta(out);
  ck_assert_ptr_nonnull(meta);
  ck_assert_uint_eq(gst_dv_objects_meta_get_n_objects(meta), 1);
  ck_assert_uint_eq(gst_dv_objects_meta_get_n_passes(meta), 1);
  ck_assert_str_eq(gst_dv_objects_meta_get_pass(meta, 0)->network, "grid");
  const GstDvObject* object = gst_dv_objects_meta_get_object(meta, 0);
  ck_assert_str_eq(object->label, "red");
  ck_assert_int_eq(object->class_id, 1);
  ck_assert_int_eq(object->network, 0);
  ck_assert_int_eq(object->kind, GST_DV_OBJECT_DETECTION);
  check_box(object, 32, 16, 48, 32);
  GstVideoRegionOfInterestMeta* roi =
      gst_buffer_get_video_region_of_interest_meta_id(out, static_cast<gint>(object->id));
  ck_assert_ptr_nonnull(roi);
  ck_assert_str_eq(g_quark_to_string(roi->roi_type), "red");
  ck_assert(roi->x == 32 && roi->y == 16 && roi->w == 16 && roi->h == 16);
  ck_assert(found_square(out, kSize, kSize, 2, 1, 1e-4));
  gst_buffer_unref(out);
}

DVNN_TEST(ids_of_two_decoders_do_not_collide) {
  Decode h(infer() + " ! dvdecode ! " + infer() + " ! dvdecode");
  GstBuffer* out = h.push_and_pull(red_square("RGB", kSize, kSize, 2, 1));
  ck_assert_uint_eq(count_objects(out), 2);
  const GstDvObject *a = object_of(out, 0), *b = object_of(out, 1);
  ck_assert_uint_ne(a->id, b->id);
  ck_assert_int_eq(b->network, 1);
  for (const GstDvObject* object : {a, b}) {
    ck_assert_ptr_nonnull(
        gst_buffer_get_video_region_of_interest_meta_id(out, static_cast<gint>(object->id)));
  }
  gst_buffer_unref(out);
}

DVNN_TEST(outputs_survive_conversion_and_scaling) {
  for (const char* between : {"videoconvert ! capsfilter caps=video/x-raw,format=NV12",
                              "videoscale ! capsfilter caps=video/x-raw,width=256,height=128"}) {
    Decode h(infer() + " ! " + between + " ! dvdecode");
    GstBuffer* out = h.push_and_pull(red_square("RGB", kSize, kSize, 2, 1));
    const bool scaled = std::string(between).find("256") != std::string::npos;
    ck_assert_uint_eq(count_objects(out), 1);
    if (scaled) {
      check_box(object_of(out, 0), 128, 32, 192, 64);
    } else {
      check_box(object_of(out, 0), 32, 16, 48, 32);
    }
    gst_buffer_unref(out);
  }
}

DVNN_TEST(messages_say_when_what_was_found) {
  Decode h(infer() + " ! dvdecode post-messages=true");
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  segment.start = GST_SECOND;       // running time counts from here
  segment.time = 100 * GST_SECOND;  // stream time there
  segment.base = 5 * GST_SECOND;
  gst_harness_push_event(h.get(), gst_event_new_segment(&segment));
  GstBuffer* frame = red_square("RGB", kSize, kSize, 2, 1);
  GST_BUFFER_PTS(frame) = 3 * GST_SECOND;
  GST_BUFFER_DURATION(frame) = 40 * GST_MSECOND;
  GstBuffer* out = h.push_and_pull(frame);
  GstMessage* message = h.pop(GST_MESSAGE_ELEMENT);
  ck_assert_ptr_nonnull(message);
  const GstStructure* s = gst_message_get_structure(message);
  ck_assert(gst_structure_has_name(s, "dvnn-objects"));
  guint64 timestamp = 0, stream_time = 0, running_time = 0, duration = 0, id = 0;
  gboolean inferred = FALSE;
  ck_assert(gst_structure_get(s, "timestamp", G_TYPE_UINT64, &timestamp, "stream-time",
                              G_TYPE_UINT64, &stream_time, "running-time", G_TYPE_UINT64,
                              &running_time, "duration", G_TYPE_UINT64, &duration, "inferred",
                              G_TYPE_BOOLEAN, &inferred, nullptr));
  ck_assert_uint_eq(timestamp, 3 * GST_SECOND);
  ck_assert_uint_eq(stream_time, 102 * GST_SECOND);
  ck_assert_uint_eq(running_time, 7 * GST_SECOND);
  ck_assert_uint_eq(duration, 40 * GST_MSECOND);
  ck_assert(inferred);
  ck_assert_str_eq(gst_structure_get_string(s, "network"), "grid");
  const GValue* list = gst_structure_get_value(s, "objects");
  ck_assert_uint_eq(gst_value_list_get_size(list), 1);
  const GstStructure* found = gst_value_get_structure(gst_value_list_get_value(list, 0));
  ck_assert(gst_structure_has_name(found, "object"));
  double x0 = 0;
  ck_assert(gst_structure_get(found, "id", G_TYPE_UINT64, &id, "x0", G_TYPE_DOUBLE, &x0, nullptr));
  ck_assert_uint_eq(id, object_of(out, 0)->id);
  ck_assert_double_eq_tol(x0, 32, 1e-4);
  gst_message_unref(message);
  gst_buffer_unref(out);
}

DVNN_TEST(frames_without_objects_are_told_if_asked) {
  for (bool empty : {false, true}) {
    Decode h(std::string("dvdecode post-messages=true post-empty=") + (empty ? "true" : "false"));
    // Nothing found, then passed without inference.
    GstBuffer* frame = black_frame();
    add_rows(frame, {{-1}});
    gst_buffer_unref(h.push_and_pull(frame));
    frame = black_frame();
    gst_dv_objects_meta_add_pass(gst_buffer_add_dv_objects_meta(frame), "rows",
                                 GST_DV_PASS_SKIPPED);
    gst_buffer_unref(h.push_and_pull(frame));
    if (!empty) {
      ck_assert_int_eq(h.count(GST_MESSAGE_ELEMENT), 0);
      continue;
    }
    for (bool inferred : {true, false}) {
      GstMessage* message = h.pop(GST_MESSAGE_ELEMENT);
      ck_assert_ptr_nonnull(message);
      const GstStructure* s = gst_message_get_structure(message);
      gboolean was = 2;
      ck_assert(gst_structure_get_boolean(s, "inferred", &was));
      ck_assert_int_eq(was, inferred);
      ck_assert_str_eq(gst_structure_get_string(s, "network"), "rows");
      ck_assert_uint_eq(gst_value_list_get_size(gst_structure_get_value(s, "objects")), 0);
      gst_message_unref(message);
    }
  }
}

DVNN_TEST(a_missing_dvinfer_is_told_once) {
  const struct {
    int frames;
    bool skipped, eos;
    int warnings;
  } cases[] = {
      {100, false, true, 1}, {5, false, true, 1}, {5, false, false, 0}, {100, true, true, 0}};
  for (const auto& c : cases) {
    Decode h("dvdecode");
    for (int i = 0; i < c.frames; ++i) {
      GstBuffer* frame = black_frame();
      if (c.skipped) {
        gst_dv_objects_meta_add_pass(gst_buffer_add_dv_objects_meta(frame), "rows",
                                     GST_DV_PASS_SKIPPED);
      }
      gst_buffer_unref(h.push_and_pull(frame));
    }
    if (c.eos) gst_harness_push_event(h.get(), gst_event_new_eos());
    ck_assert_int_eq(h.count(GST_MESSAGE_WARNING), c.warnings);
  }
}

DVNN_TEST(outputs_that_are_lost_on_their_way_are_told) {
  // The frame's shape changes: where its pixels are in the network's input is not known any more.
  Decode h(
      infer() +
      " ! videoscale ! capsfilter caps=video/x-raw,width=64,height=32,pixel-aspect-ratio=1/1 ! "
      "dvdecode");
  for (int i = 0; i < 3; ++i) {
    gst_buffer_unref(h.push_and_pull(red_square("RGB", kSize, kSize, 2, 1)));
  }
  gst_harness_push_event(h.get(), gst_event_new_eos());
  // The event comes through dvinfer's thread.
  int warnings = 0;
  for (int i = 0; i < 500 && warnings == 0; ++i) {
    warnings = h.count(GST_MESSAGE_WARNING);
    g_usleep(10 * 1000);
  }
  ck_assert_int_eq(warnings, 1);
}

DVNN_TEST(the_threshold_may_be_controlled) {
  Decode h("dvdecode name=decode");
  GstElement* decode = gst_harness_find_element(h.get(), "dvdecode");
  GstControlSource* source = gst_interpolation_control_source_new();
  g_object_set(source, "mode", GST_INTERPOLATION_MODE_NONE, nullptr);
  auto* values = GST_TIMED_VALUE_CONTROL_SOURCE(source);
  gst_timed_value_control_source_set(values, 0, 0.9);
  gst_timed_value_control_source_set(values, GST_SECOND, 0.1);
  ck_assert(gst_object_add_control_binding(
      GST_OBJECT(decode), gst_direct_control_binding_new(GST_OBJECT(decode), "threshold", source)));
  gst_object_unref(source);
  for (GstClockTime time : {GstClockTime{0}, GstClockTime{2 * GST_SECOND}}) {
    GstBuffer* frame = black_frame(time);
    OutputRow row;
    row.confidence = 0.5f;
    add_rows(frame, {row});
    GstBuffer* out = h.push_and_pull(frame);
    ck_assert_uint_eq(count_objects(out), time ? 1 : 0);
    gst_buffer_unref(out);
  }
  gst_object_unref(decode);
}

DVNN_TEST(the_best_objects_stay_within_the_limit) {
  Decode h("dvdecode max-detections=2 threshold=0.1");
  GstBuffer* frame = black_frame();
  std::vector<OutputRow> rows(4);
  const float confidences[] = {0.3f, 0.9f, 0.2f, 0.6f};
  for (size_t i = 0; i < rows.size(); ++i) rows[i].confidence = confidences[i];
  rows[1].x0 = 2, rows[1].x1 = 3;  // the best one is outside: it displaces none
  add_rows(frame, rows);
  GstBuffer* out = h.push_and_pull(frame);
  ck_assert_uint_eq(count_objects(out), 2);
  ck_assert(object_of(out, 0)->confidence == 0.6f && object_of(out, 1)->confidence == 0.3f);
  gst_buffer_unref(out);
}

DVNN_TEST(every_region_comes_back_to_its_place) {
  // Two regions of the frame, each shown to the network as a whole: left half, right half.
  Decode h("dvdecode");
  GstBuffer* frame = black_frame();
  for (guint region : {0u, 1u}) {
    GstDvTensorMeta* meta = add_rows(frame, {{}});
    meta->region = region;
    meta->transform = {2, region ? -kSize : 0.0, 1, 0, FALSE, 0, 0};
  }
  GstBuffer* out = h.push_and_pull(frame);
  ck_assert_uint_eq(count_objects(out), 2);
  check_box(object_of(out, 0), 0, 0, kSize / 2, kSize);
  check_box(object_of(out, 1), kSize / 2, 0, kSize, kSize);
  ck_assert_ptr_null(gst_buffer_get_dv_tensor_meta(out));
  gst_buffer_unref(out);
}

DVNN_TEST(a_class_belongs_to_all_that_the_network_was_shown) {
  Decode h("dvdecode threshold=0.5");
  GstBuffer* frame = black_frame();
  GstDvTensorMeta* meta = add_rows(frame, {{}});
  gst_dv_network_info_unref(meta->network);
  static const gchar* const labels[] = {"cat", "dog", nullptr};
  meta->network = gst_dv_network_info_new("classes", "classification", "{}", labels);
  // The network was shown the frame's right half.
  meta->transform = {2, -kSize, 1, 0, FALSE, 0, 0};
  const float scores[] = {0.25f, 0.75f};
  meta->tensors[0].num_dims = 2;
  meta->tensors[0].dims[0] = 1;
  meta->tensors[0].dims[1] = 2;
  gst_buffer_replace(&meta->tensors[0].data, nullptr);
  meta->tensors[0].data = gst_buffer_new_memdup(scores, sizeof scores);
  GstBuffer* out = h.push_and_pull(frame);
  ck_assert_uint_eq(count_objects(out), 1);
  const GstDvObject* object = object_of(out, 0);
  ck_assert_int_eq(object->kind, GST_DV_OBJECT_CLASSIFICATION);
  ck_assert_str_eq(object->label, "dog");
  check_box(object, kSize / 2, 0, kSize, kSize);
  auto* roi = reinterpret_cast<GstVideoRegionOfInterestMeta*>(
      gst_buffer_get_meta(out, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE));
  ck_assert_ptr_nonnull(gst_video_region_of_interest_meta_get_param(roi, "classification"));
  gst_buffer_unref(out);
}

DVNN_TEST(outputs_are_let_go_once_decoded) {
  Decode h("dvdecode");
  GstBuffer* frame = black_frame();
  GstBuffer* data = gst_buffer_ref(add_rows(frame, {{}})->tensors[0].data);
  GstBuffer* out = h.push_and_pull(frame);
  ck_assert_ptr_null(gst_buffer_get_dv_tensor_meta(out));
  ck_assert_int_eq(GST_MINI_OBJECT_REFCOUNT_VALUE(data), 1);
  gst_buffer_unref(data);
  gst_buffer_unref(out);
}

DVNN_TEST(outputs_of_other_shapes_are_decoded_as_such) {
  // The same network: a decoder that was made for one row must not read a thousand.
  Decode h("dvdecode max-detections=5000");
  for (size_t rows : {1, 1000, 3}) {
    GstBuffer* frame = black_frame();
    add_rows(frame, std::vector<OutputRow>(rows));
    GstBuffer* out = h.push_and_pull(frame);
    ck_assert_uint_eq(count_objects(out), rows);
    gst_buffer_unref(out);
  }
}

DVNN_TEST(outputs_that_begin_between_numbers_are_decoded) {
  Decode h("dvdecode");
  GstBuffer* frame = black_frame();
  const OutputRow row = {0, 1, 0.75f, 0.25f, 0, 1, 1};
  GstDvTensorMeta* meta = add_rows(frame, {row});
  GstBuffer* odd = gst_buffer_new_allocate(nullptr, sizeof row + 1, nullptr);
  gst_buffer_fill(odd, 1, &row, sizeof row);
  gst_buffer_resize(odd, 1, sizeof row);
  gst_buffer_replace(&meta->tensors[0].data, odd);
  gst_buffer_unref(odd);
  GstBuffer* out = h.push_and_pull(frame);
  ck_assert_uint_eq(count_objects(out), 1);
  const GstDvObject* object =
      gst_dv_objects_meta_get_object(gst_buffer_get_dv_objects_meta(out), 0);
  ck_assert_float_eq(object->confidence, 0.75f);
  ck_assert_double_eq(object->x0, kSize / 4.0);
  gst_buffer_unref(out);
}

DVNN_TEST(impossible_outputs_are_refused) {
  using Spoil = void (*)(GstDvTensorMeta*);
  const struct {
    Spoil spoil;
    const char* word;
  } cases[] = {
      {[](GstDvTensorMeta* m) { m->tensors[0].dims[2] = 1000; }, "shorter"},
      {[](GstDvTensorMeta* m) { m->tensors[0].dims[0] = G_MAXSIZE; }, "dimensions"},
      {[](GstDvTensorMeta* m) { m->tensors[0].num_dims = 99; }, "dimensions"},
      {[](GstDvTensorMeta* m) { gst_clear_buffer(&m->tensors[0].data); }, "shorter"},
      {[](GstDvTensorMeta* m) { m->num_tensors = 0; }, "1x1xNx7"},
      {[](GstDvTensorMeta* m) { g_clear_pointer(&m->tensors, g_free); }, "tensors"},
      {[](GstDvTensorMeta* m) { std::memset(&m->region_kind, 9, 1); }, "kind 9"},
  };
  for (const auto& c : cases) {
    Decode h("dvdecode");
    GstBuffer* good = black_frame();
    add_rows(good, {{}});
    gst_buffer_unref(h.push_and_pull(good));
    GstBuffer* frame = black_frame();
    GstDvTensorMeta* meta = add_rows(frame, {{}});
    GstBuffer* data = gst_buffer_ref(meta->tensors[0].data);
    c.spoil(meta);
    // A spoiled meta does not free what it does not know of.
    if (!meta->tensors || meta->num_tensors == 0) gst_buffer_unref(data);
    ck_assert_int_eq(gst_harness_push(h.get(), frame), GST_FLOW_ERROR);
    GstMessage* message = h.pop(GST_MESSAGE_ERROR);
    ck_assert_ptr_nonnull(message);
    GError* error = nullptr;
    gchar* debug = nullptr;
    gst_message_parse_error(message, &error, &debug);
    ck_assert_msg(std::string(error->message).find(c.word) != std::string::npos, "%s",
                  error->message);
    ck_assert(debug && std::string(debug).find("frame at") != std::string::npos);
    g_free(debug);
    g_error_free(error);
    gst_message_unref(message);
    gst_buffer_unref(data);
  }
}

DVNN_TEST(outputs_without_a_name_or_a_place_do_no_harm) {
  Decode h("dvdecode");
  GstBuffer* frame = black_frame();
  add_rows(frame, {{}})->tensors[0].id = 0;
  GstBuffer* out = h.push_and_pull(frame);
  ck_assert_uint_eq(count_objects(out), 1);
  gst_buffer_unref(out);
  // Nothing is anywhere.
  frame = black_frame();
  add_rows(frame, {{}})->transform = {0, 0, 0, 0, FALSE, 0, 0};
  out = h.push_and_pull(frame);
  ck_assert_uint_eq(count_objects(out), 0);
  gst_buffer_unref(out);
  frame = black_frame();
  OutputRow row;
  row.x0 = row.confidence = std::nanf("");
  add_rows(frame, {row, {0, 1, 1, std::nanf(""), 0, 1, 1}, {0, 1, 1, -INFINITY, 0, INFINITY, 1}});
  out = h.push_and_pull(frame);
  ck_assert_uint_eq(count_objects(out), 0);
  gst_buffer_unref(out);
}

DVNN_TEST(a_network_without_a_decoder_is_a_matter_of_settings) {
  static const gchar* const none[] = {nullptr};
  const struct {
    const char *decoder, *params, *word;
  } cases[] = {{"", "{}", "--decoder"}, {"yolo99", "{}", "yolo99"}, {"ssd", "][", "parameters"}};
  for (const auto& c : cases) {
    Decode h("dvdecode");
    GstBuffer* frame = black_frame();
    GstDvTensorMeta* meta = add_rows(frame, {{}});
    gst_dv_network_info_unref(meta->network);
    meta->network = gst_dv_network_info_new("net", c.decoder, c.params, none);
    ck_assert_int_eq(gst_harness_push(h.get(), frame), GST_FLOW_ERROR);
    GstMessage* message = h.pop(GST_MESSAGE_ERROR);
    ck_assert_ptr_nonnull(message);
    GError* error = nullptr;
    gst_message_parse_error(message, &error, nullptr);
    ck_assert_msg(g_error_matches(error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS), "%s",
                  error->message);
    ck_assert_msg(std::string(error->message).find(c.word) != std::string::npos, "%s",
                  error->message);
    g_error_free(error);
    gst_message_unref(message);
  }
}

}  // namespace dvnn::test::decode_tests
