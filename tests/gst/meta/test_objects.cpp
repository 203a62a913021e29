// SPDX-License-Identifier: Apache-2.0
// The public metas on their own: what they hold, and what becomes of them in GStreamer's elements.
#include <gst/base/gstbasetransform.h>

#include <set>
#include <thread>

#include "gst/dvnn/gstdvobjectsmeta.h"
#include "gst/dvnn/gstdvtensormeta.h"
#include "gst_fixture.h"
#include "video_matrix.h"

namespace dvnn::test::objects_tests {

DVNN_GST_SUITE(gst_objects);

namespace {

// The object that is put on frames of 320x240, and where a network of 160x120 has them.
constexpr double kBox[] = {40, 30, 200, 150};
constexpr GstDvTransform kTransform = {0.5, 0, 0.5, 0, FALSE, 0, 0};

GstDvObject* add_object(GstBuffer* frame, const double* box = kBox) {
  GstDvObjectsMeta* meta = gst_buffer_add_dv_objects_meta(frame);
  GstDvObject* object =
      gst_dv_objects_meta_add_object(meta, GST_DV_OBJECT_DETECTION, 3, "thing", 0.5f);
  gst_dv_object_set_box(object, box[0], box[1], box[2], box[3]);
  return object;
}

void mark(GstBuffer* frame) {
  GstDvObjectsMeta* meta = gst_buffer_add_dv_objects_meta(frame);
  gst_dv_objects_meta_add_pass(meta, "net", GST_DV_PASS_INFERRED);
  add_object(frame)->network = 0;
  GstDvTensorMeta* outputs = gst_buffer_add_dv_tensor_meta(frame, 1);
  outputs->transform = kTransform;
  outputs->input_width = 160;
  outputs->input_height = 120;
  outputs->region = 7;
}

// The metas after an element: the kept object's box, or none.
struct Seen {
  int frames = 0;
  bool objects = false, outputs = false;
  double box[4] = {};
  GstDvTransform transform{};
};

GstPadProbeReturn mark_frame(GstPad*, GstPadProbeInfo* info, gpointer) {
  GstBuffer* frame = gst_buffer_make_writable(GST_PAD_PROBE_INFO_BUFFER(info));
  GST_PAD_PROBE_INFO_DATA(info) = frame;
  mark(frame);
  return GST_PAD_PROBE_OK;
}

GstPadProbeReturn see_frame(GstPad*, GstPadProbeInfo* info, gpointer data) {
  auto* seen = static_cast<Seen*>(data);
  GstBuffer* frame = GST_PAD_PROBE_INFO_BUFFER(info);
  const int frames = seen->frames + 1;
  *seen = {};
  seen->frames = frames;
  if (GstDvObjectsMeta* meta = gst_buffer_get_dv_objects_meta(frame)) {
    ck_assert_int_eq(gst_dv_objects_meta_get_pass(meta, 0)->state, GST_DV_PASS_INFERRED);
    const GstDvObject* object = gst_dv_objects_meta_get_object(meta, 0);
    seen->objects = object != nullptr;
    if (object) {
      ck_assert_str_eq(object->label, "thing");
      const double box[] = {object->x0, object->y0, object->x1, object->y1};
      std::copy(box, box + 4, seen->box);
    }
  }
  if (const GstDvTensorMeta* meta = gst_buffer_get_dv_tensor_meta(frame)) {
    ck_assert_uint_eq(meta->region, 7);
    ck_assert_uint_eq(meta->input_width, 160);
    seen->outputs = true;
    seen->transform = meta->transform;
  }
  return GST_PAD_PROBE_OK;
}

void probe(GstElement* pipeline, const char* name, const char* pad_name, GstPadProbeCallback call,
           gpointer data) {
  GstElement* element = gst_bin_get_by_name(GST_BIN(pipeline), name);
  GstPad* pad = gst_element_get_static_pad(element, pad_name);
  gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, call, data, nullptr);
  gst_object_unref(pad);
  gst_object_unref(element);
}

// Sends marked frames through `elements`; nothing where they are not installed.
bool send_through(const std::string& elements, Seen* seen) {
  const std::string description =
      "videotestsrc num-buffers=4 ! video/x-raw,format=I420,width=320,height=240,framerate=25/1,"
      "pixel-aspect-ratio=1/1 ! identity name=from ! " +
      elements + " ! fakesink name=to";
  GError* error = nullptr;
  GstElement* pipeline = gst_parse_launch(description.c_str(), &error);
  if (error) {
    const bool missing = g_error_matches(error, GST_PARSE_ERROR, GST_PARSE_ERROR_NO_SUCH_ELEMENT);
    ck_assert_msg(missing, "%s: %s", elements.c_str(), error->message);
    std::printf("skipped: %s\n", error->message);
    g_error_free(error);
    if (pipeline) gst_object_unref(pipeline);
    return false;
  }
  probe(pipeline, "from", "src", mark_frame, nullptr);
  probe(pipeline, "to", "sink", see_frame, seen);
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  GstBus* bus = gst_element_get_bus(pipeline);
  GstMessage* message = gst_bus_timed_pop_filtered(
      bus, 60 * GST_SECOND, static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR));
  ck_assert_msg(message && GST_MESSAGE_TYPE(message) == GST_MESSAGE_EOS, "%s does not end",
                elements.c_str());
  gst_message_unref(message);
  gst_object_unref(bus);
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_object_unref(pipeline);
  ck_assert_int_gt(seen->frames, 0);
  return true;
}

// An element's effect on the metas.
enum class Fate { kKept, kPlaceless, kLost };

struct Row {
  const char* elements;
  Fate fate;
  double box[4];  // of kKept
};

// The table of docs/metadata.md, as GStreamer 1.22 is. Newer versions may keep more; where they do,
// the box has to be the one that is named here.
const Row kRows[] = {
    {"identity", Fate::kKept, {40, 30, 200, 150}},
    {"queue", Fate::kKept, {40, 30, 200, 150}},
    {"tee ! queue", Fate::kKept, {40, 30, 200, 150}},
    {"valve", Fate::kKept, {40, 30, 200, 150}},
    {"videorate ! video/x-raw,framerate=50/1", Fate::kKept, {40, 30, 200, 150}},
    {"videorate ! video/x-raw,framerate=10/1", Fate::kKept, {40, 30, 200, 150}},
    {"videoconvert ! video/x-raw,format=RGB", Fate::kKept, {40, 30, 200, 150}},
    {"videoscale ! video/x-raw,width=640,height=480", Fate::kKept, {80, 60, 400, 300}},
    {"videoscale ! video/x-raw,width=101", Fate::kKept, {12.625, 30, 63.125, 150}},
    {"videoscale ! video/x-raw,width=101,pixel-aspect-ratio=1/1",
     Fate::kKept,
     {12.6, 9.5, 63.1, 47.5}},
    {"videoscale ! video/x-raw,width=160,height=160", Fate::kKept, {20, 20, 100, 100}},
    {"videoconvertscale ! video/x-raw,format=RGB,width=160,height=120",
     Fate::kKept,
     {20, 15, 100, 75}},
    {"videobalance saturation=0.5", Fate::kKept, {40, 30, 200, 150}},
    {"gamma gamma=2", Fate::kKept, {40, 30, 200, 150}},
    {"clockoverlay", Fate::kKept, {40, 30, 200, 150}},
    {"vp8enc deadline=1 ! vp8dec", Fate::kKept, {40, 30, 200, 150}},
    {"jpegenc ! jpegdec", Fate::kKept, {40, 30, 200, 150}},
    // Borders: 160x120 in the middle of 160x160.
    {"videoscale ! video/x-raw,width=160,height=160,pixel-aspect-ratio=1/1",
     Fate::kPlaceless,
     {20, 35, 100, 95}},
    {"videoscale add-borders=false ! video/x-raw,width=160,height=160,pixel-aspect-ratio=1/1",
     Fate::kPlaceless,
     {20, 20, 100, 100}},
    {"videocrop left=20 top=10", Fate::kLost, {20, 20, 180, 140}},
    {"aspectratiocrop aspect-ratio=1/1", Fate::kLost, {0, 30, 160, 150}},
    {"videobox left=-20 top=-10", Fate::kLost, {60, 40, 220, 160}},
    {"videoflip video-direction=180", Fate::kLost, {120, 90, 280, 210}},
    {"videoflip video-direction=90r", Fate::kLost, {90, 40, 210, 200}},
    {"compositor", Fate::kLost, {40, 30, 200, 150}},
    {"vp8enc deadline=1 ! matroskamux ! matroskademux ! vp8dec", Fate::kLost, {40, 30, 200, 150}},
    {"rtpvrawpay ! rtpvrawdepay", Fate::kLost, {40, 30, 200, 150}},
    {"alpha", Fate::kLost, {40, 30, 200, 150}},
    {"deinterlace mode=interlaced", Fate::kLost, {40, 30, 200, 150}},
};

void check(const Row& row) {
  Seen seen;
  if (!send_through(row.elements, &seen)) return;
  const bool placed = seen.objects && seen.box[2] > seen.box[0];
  if (row.fate == Fate::kKept) {
    ck_assert_msg(placed, "%s: the object is gone", row.elements);
    ck_assert_msg(seen.outputs, "%s: the outputs are gone", row.elements);
  } else {
    guint major = 0, minor = 0, micro = 0, nano = 0;
    gst_version(&major, &minor, &micro, &nano);
    if (minor < 24) {
      ck_assert_msg(!placed && !seen.outputs, "%s keeps more than documented", row.elements);
      ck_assert_msg(seen.objects == (row.fate == Fate::kPlaceless), "%s: objects %d", row.elements,
                    seen.objects);
    }
  }
  // Wrong places are never told.
  if (placed) {
    for (int i = 0; i < 4; ++i) {
      ck_assert_msg(std::fabs(seen.box[i] - row.box[i]) < 1, "%s: edge %d is at %g, not at %g",
                    row.elements, i, seen.box[i], row.box[i]);
    }
  }
  if (seen.outputs) {
    // The network's input has the object at half the coordinates of the first frame.
    const GstDvTransform& t = seen.transform;
    ck_assert(!t.swap_xy);
    ck_assert_double_eq_tol(t.scale_x * row.box[0] + t.offset_x, 20, 0.5);
    ck_assert_double_eq_tol(t.scale_y * row.box[3] + t.offset_y, 75, 0.5);
  }
}

// Returns where the object is after a matrix; null if it is not there.
GstDvObject* after_matrix(const VideoMatrix& matrix, GstBuffer* frame, GstBuffer* changed) {
  GstMeta* meta = reinterpret_cast<GstMeta*>(gst_buffer_get_dv_objects_meta(frame));
  ck_assert(meta->info->transform_func(changed, meta, frame,
                                       g_quark_from_string("gst-video-matrix"),
                                       const_cast<VideoMatrix*>(&matrix)));
  return gst_dv_objects_meta_get_object(gst_buffer_get_dv_objects_meta(changed), 0);
}

}  // namespace

DVNN_TEST(ids_are_unique_in_the_process) {
  constexpr int kThreads = 4, kEach = 10000;
  std::vector<std::vector<guint64>> ids(kThreads);
  std::vector<std::thread> threads;
  for (auto& list : ids) {
    threads.emplace_back([&list] {
      for (int i = 0; i < kEach; ++i) list.push_back(gst_dv_object_new_id());
    });
  }
  for (auto& thread : threads) thread.join();
  std::set<guint64> all;
  for (const auto& list : ids) all.insert(list.begin(), list.end());
  ck_assert_uint_eq(all.size(), kThreads * kEach);
  ck_assert(all.count(0) == 0);
}

DVNN_TEST(a_frame_has_one_meta) {
  GstBuffer* frame = gst_buffer_new();
  ck_assert_ptr_null(gst_buffer_get_dv_objects_meta(frame));
  GstDvObjectsMeta* meta = gst_buffer_add_dv_objects_meta(frame);
  ck_assert_ptr_eq(gst_buffer_add_dv_objects_meta(frame), meta);
  ck_assert_ptr_eq(gst_buffer_get_dv_objects_meta(frame), meta);
  ck_assert_uint_eq(gst_dv_objects_meta_add_pass(meta, "a", GST_DV_PASS_INFERRED), 0);
  ck_assert_uint_eq(gst_dv_objects_meta_add_pass(meta, "b", GST_DV_PASS_SKIPPED), 1);
  ck_assert_int_eq(gst_dv_objects_meta_find_pass(meta, "b"), 1);
  ck_assert_int_eq(gst_dv_objects_meta_find_pass(meta, "c"), -1);
  ck_assert_ptr_null(gst_dv_objects_meta_get_pass(meta, 2));
  ck_assert_ptr_null(gst_dv_objects_meta_get_object(meta, 0));
  gst_buffer_unref(frame);
}

DVNN_TEST(copies_are_deep) {
  GstBuffer* frame = gst_buffer_new_allocate(nullptr, 16, nullptr);
  mark(frame);
  const guint64 id = gst_dv_objects_meta_get_object(gst_buffer_get_dv_objects_meta(frame), 0)->id;
  GstBuffer* copy = gst_buffer_copy(frame);
  GstBuffer* part = gst_buffer_copy_region(frame, GST_BUFFER_COPY_ALL, 4, 8);
  // Copied a second time: nothing is there twice.
  gst_buffer_copy_into(copy, frame, GST_BUFFER_COPY_META, 0, static_cast<gsize>(-1));
  gst_buffer_unref(frame);
  GstDvObjectsMeta* meta = gst_buffer_get_dv_objects_meta(copy);
  ck_assert_uint_eq(gst_dv_objects_meta_get_n_objects(meta), 1);
  ck_assert_uint_eq(gst_dv_objects_meta_get_n_passes(meta), 1);
  const GstDvObject* object = gst_dv_objects_meta_get_object(meta, 0);
  ck_assert_uint_eq(object->id, id);
  ck_assert_str_eq(object->label, "thing");
  ck_assert_int_eq(object->class_id, 3);
  ck_assert_int_eq(object->network, 0);
  ck_assert(object->x1 == kBox[2] && object->confidence == 0.5f);
  // A part of the memory is no frame.
  ck_assert_ptr_null(gst_buffer_get_dv_objects_meta(part));
  ck_assert_ptr_null(gst_buffer_get_dv_tensor_meta(part));
  gst_buffer_unref(part);
  gst_buffer_unref(copy);
}

DVNN_TEST(objects_may_be_put_back) {
  GstBuffer* frame = gst_buffer_new();
  GstDvObjectsMeta* meta = gst_buffer_add_dv_objects_meta(frame);
  GstDvObject* object = gst_dv_object_new(GST_DV_OBJECT_DETECTION, 1, "a", 0.5f);
  const guint64 id = gst_dv_objects_meta_put_object(meta, object);
  ck_assert_uint_ne(id, 0);
  ck_assert_uint_ne(gst_dv_objects_meta_put_object(meta, object), id);
  object->id = id;
  object->track_id = 9;
  ck_assert_uint_eq(gst_dv_objects_meta_put_object(meta, object), id);
  gst_dv_object_free(object);
  ck_assert_uint_eq(gst_dv_objects_meta_get_n_objects(meta), 2);
  ck_assert_uint_eq(gst_dv_objects_meta_find_object(meta, id)->track_id, 9);
  gst_buffer_unref(frame);
}

DVNN_TEST(parts_of_a_removed_object_have_no_parent) {
  GstBuffer* frame = gst_buffer_new();
  const guint64 id = add_object(frame)->id;
  GstDvObject* part = add_object(frame);
  part->parent = id;
  GstDvObjectsMeta* meta = gst_buffer_get_dv_objects_meta(frame);
  ck_assert_ptr_eq(gst_dv_objects_meta_find_object(meta, part->id), part);
  ck_assert(gst_dv_objects_meta_remove_object(meta, id));
  ck_assert(!gst_dv_objects_meta_remove_object(meta, id));
  ck_assert_uint_eq(gst_dv_objects_meta_get_n_objects(meta), 1);
  ck_assert_uint_eq(part->parent, 0);
  gst_buffer_unref(frame);
}

DVNN_TEST(hostile_values_do_no_harm) {
  const double boxes[][4] = {
      {NAN, 0, 1, 1}, {0, 0, INFINITY, 1}, {-1e308, -1e308, 1e308, 1e308}, {10, 10, 0, 0}};
  GstBuffer* frame = gst_buffer_new();
  for (const auto& box : boxes) add_object(frame, box);
  GstDvObjectsMeta* meta = gst_buffer_get_dv_objects_meta(frame);
  ck_assert(!gst_dv_object_has_box(gst_dv_objects_meta_get_object(meta, 0)));
  ck_assert(!gst_dv_object_has_box(gst_dv_objects_meta_get_object(meta, 1)));
  ck_assert(gst_dv_objects_meta_get_object(meta, 3)->x1 == 10);
  // Fields may be written by anybody.
  GstDvObject* object = gst_dv_objects_meta_add_object(meta, GST_DV_OBJECT_DETECTION, G_MININT,
                                                       "not \xff UTF-8", std::nanf(""));
  ck_assert(object->confidence == 0);
  ck_assert(g_utf8_validate(object->label, -1, nullptr));
  object->network = G_MAXINT;
  object->parent = G_MAXUINT64;
  object->x0 = NAN;
  g_clear_pointer(&object->label, g_free);
  GstVideoInfo from = video_info("RGB", 64, 64), to = video_info("RGB", 32, 32);
  GstVideoMetaTransform scale = {&from, &to};
  GstBuffer* scaled = gst_buffer_new();
  GstMeta* base = reinterpret_cast<GstMeta*>(meta);
  ck_assert(base->info->transform_func(scaled, base, frame,
                                       gst_video_meta_transform_scale_get_quark(), &scale));
  meta = gst_buffer_get_dv_objects_meta(scaled);
  for (guint i = 0; i < gst_dv_objects_meta_get_n_objects(meta); ++i) {
    object = gst_dv_objects_meta_get_object(meta, i);
    ck_assert(object->x0 >= 0 && object->y0 >= 0 && object->x1 <= 32 && object->y1 <= 32);
    ck_assert(object->network == -1 && object->label);
  }
  gst_buffer_unref(scaled);
  gst_buffer_unref(frame);
}

DVNN_TEST(boxes_follow_frames_through_elements) {
  for (const Row& row : kRows) check(row);
}

DVNN_TEST(a_crop_that_is_a_meta_leaves_the_places_alone) {
  // videocrop passes the frame with all its pixels where downstream crops by itself.
  GstHarness* h = gst_harness_new_parse("videocrop left=20 top=10");
  gst_harness_add_propose_allocation_meta(h, GST_VIDEO_META_API_TYPE, nullptr);
  gst_harness_add_propose_allocation_meta(h, GST_VIDEO_CROP_META_API_TYPE, nullptr);
  gst_harness_set_src_caps_str(h, video_caps("I420", 320, 240).c_str());
  GstBuffer* frame = red_square("I420", 320, 240, 0, 0);
  mark(frame);
  GstBuffer* out = gst_harness_push_and_pull(h, frame);
  ck_assert_ptr_nonnull(gst_buffer_get_video_crop_meta(out));
  const GstDvObject* object =
      gst_dv_objects_meta_get_object(gst_buffer_get_dv_objects_meta(out), 0);
  ck_assert(object->x0 == kBox[0] && object->y1 == kBox[3]);
  gst_buffer_unref(out);
  gst_harness_teardown(h);
}

DVNN_TEST(boxes_follow_matrices) {
  const GstVideoInfo from = video_info("RGB", 320, 240), to = video_info("RGB", 160, 160);
  const GstVideoInfo turned_info = video_info("RGB", 240, 320);
  const struct {
    VideoMatrix matrix;
    double box[4];  // empty: the object is cropped away
  } cases[] = {
      // Scaled to 160x120 with borders above and below.
      {{&from, {0, 0, 320, 240}, &to, {0, 20, 160, 120}, {{0.5f, 0, 0}, {0, 0.5f, 0}, {0, 0, 1}}},
       {20, 35, 100, 95}},
      // The right half, cropped: the object's right part is left.
      {{&from, {100, 0, 160, 160}, &to, {0, 0, 160, 160}, {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}},
       {0, 30, 100, 150}},
      {{&from, {220, 0, 100, 160}, &to, {0, 0, 100, 160}, {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}},
       {0, 0, 0, 0}},
      // Mirrored.
      {{&from, {0, 0, 320, 240}, &from, {0, 0, 320, 240}, {{-1, 0, 320}, {0, 1, 0}, {0, 0, 1}}},
       {120, 30, 280, 150}},
      // A quarter turn clockwise.
      {{&from,
        {0, 0, 320, 240},
        &turned_info,
        {0, 0, 240, 320},
        {{0, -1, 240}, {1, 0, 0}, {0, 0, 1}}},
       {90, 40, 210, 200}},
  };
  for (const auto& c : cases) {
    GstBuffer* frame = gst_buffer_new();
    GstBuffer* changed = gst_buffer_new();
    mark(frame);
    const GstDvObject* object = after_matrix(c.matrix, frame, changed);
    if (c.box[2] > c.box[0]) {
      ck_assert_ptr_nonnull(object);
      ck_assert_double_eq_tol(object->x0, c.box[0], 1e-6);
      ck_assert_double_eq_tol(object->y0, c.box[1], 1e-6);
      ck_assert_double_eq_tol(object->x1, c.box[2], 1e-6);
      ck_assert_double_eq_tol(object->y1, c.box[3], 1e-6);
    } else {
      ck_assert_ptr_null(object);
    }
    gst_buffer_unref(changed);
    gst_buffer_unref(frame);
  }
}

DVNN_TEST(what_no_transform_expresses_leaves_objects_without_a_place) {
  const GstVideoInfo info = video_info("RGB", 320, 240);
  const gfloat matrices[][3][3] = {{{1, 0.5f, 0}, {0, 1, 0}, {0, 0, 1}},   // sheared
                                   {{1, 0, 0}, {0, 1, 0}, {0.01f, 0, 1}},  // in perspective
                                   {{0, 0, 0}, {0, 0, 0}, {0, 0, 1}},      // singular
                                   {{NAN, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
  for (const auto& m : matrices) {
    GstBuffer* frame = gst_buffer_new();
    GstBuffer* changed = gst_buffer_new();
    mark(frame);
    VideoMatrix matrix = {&info, {0, 0, 320, 240}, &info, {0, 0, 320, 240}, {}};
    std::copy(&m[0][0], &m[0][0] + 9, &matrix.matrix[0][0]);
    const GstDvObject* object = after_matrix(matrix, frame, changed);
    ck_assert_ptr_nonnull(object);
    ck_assert(!gst_dv_object_has_box(object));
    ck_assert_str_eq(object->label, "thing");
    gst_buffer_unref(changed);
    gst_buffer_unref(frame);
  }
}

DVNN_TEST(the_newest_outputs_are_found) {
  GstBuffer* frame = gst_buffer_new();
  ck_assert_ptr_null(gst_buffer_get_dv_tensor_meta(frame));
  gst_buffer_add_dv_tensor_meta(frame, 1);
  GstDvTensorMeta* second = gst_buffer_add_dv_tensor_meta(frame, 2);
  ck_assert_ptr_eq(gst_buffer_get_dv_tensor_meta(frame), second);
  ck_assert_uint_eq(second->num_tensors, 2);
  gst_buffer_unref(frame);
}

}  // namespace dvnn::test::objects_tests
