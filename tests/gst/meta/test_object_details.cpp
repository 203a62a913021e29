// SPDX-License-Identifier: Apache-2.0
// Points, outlines, masks, text, embeddings and numbers of objects: on copies of frames, and on
// frames that were scaled, turned and cropped.
#include <limits>

#include "gst/dvnn/gstdvobjectsmeta.h"
#include "gst_fixture.h"

namespace dvnn::test::object_details_tests {

DVNN_GST_SUITE(gst_object_details);

namespace {

const double kNan = std::numeric_limits<double>::quiet_NaN();

GBytes* bytes_of(const std::vector<guint8>& cells) {
  return g_bytes_new(cells.data(), cells.size());
}

bool set_mask(GstDvObject* object, double x0, double y0, double x1, double y1, guint width,
              guint height, const std::vector<guint8>& cells) {
  GBytes* bytes = bytes_of(cells);
  const bool good = gst_dv_object_set_mask(object, x0, y0, x1, y1, width, height, bytes);
  g_bytes_unref(bytes);
  return good;
}

// A frame with an object that has all there is.
GstBuffer* frame_with_everything() {
  GstBuffer* frame = gst_buffer_new_allocate(nullptr, 16, nullptr);
  GstDvObject* object = gst_dv_objects_meta_add_object(gst_buffer_add_dv_objects_meta(frame),
                                                       GST_DV_OBJECT_DETECTION, 1, "person", 0.5f);
  gst_dv_object_set_box(object, 10, 20, 40, 60);
  gst_dv_object_add_point(object, 12, 24, 0.75f);
  gst_dv_object_add_point(object, kNan, 24, 1);
  gst_dv_object_set_skeleton(object, "face-5");
  gst_dv_object_add_corner(object, 10, 30);
  gst_dv_object_add_corner(object, 40, 25);
  gst_dv_object_add_corner(object, kNan, 25);
  ck_assert(set_mask(object, 10, 20, 40, 60, 3, 2, {0, 1, 2, 3, 4, 5}));
  gst_dv_object_set_text(object, "AB \xff 12");
  const gfloat embedding[] = {0.25f, -1};
  gst_dv_object_set_embedding(object, embedding, 2);
  gst_dv_object_add_number(object, "age", 34.5);
  gst_dv_object_set_ground(object, 3, -4, 0.5, 1.5, 0.25, 90);
  return frame;
}

GstDvObject* object_on(GstBuffer* frame) {
  GstDvObjectsMeta* meta = gst_buffer_get_dv_objects_meta(frame);
  return meta ? gst_dv_objects_meta_get_object(meta, 0) : nullptr;
}

void check_point(const GstDvObject* object, guint index, double x, double y, float confidence) {
  gdouble have_x = -1, have_y = -1;
  gfloat have = -1;
  ck_assert(gst_dv_object_get_point(object, index, &have_x, &have_y, &have));
  ck_assert_double_eq_tol(have_x, x, 1e-9);
  ck_assert_double_eq_tol(have_y, y, 1e-9);
  ck_assert_float_eq(have, confidence);
}

void check_corner(const GstDvObject* object, guint index, double x, double y) {
  gdouble have_x = -1, have_y = -1;
  ck_assert(gst_dv_object_get_corner(object, index, &have_x, &have_y));
  ck_assert_double_eq_tol(have_x, x, 1e-9);
  ck_assert_double_eq_tol(have_y, y, 1e-9);
}

void check_mask(const GstDvObject* object, double x0, double y0, double x1, double y1, guint width,
                guint height, const std::vector<guint8>& cells) {
  gdouble place[4];
  guint columns = 0, rows = 0;
  ck_assert(
      gst_dv_object_get_mask(object, &place[0], &place[1], &place[2], &place[3], &columns, &rows));
  const double wanted[] = {x0, y0, x1, y1};
  for (int i = 0; i < 4; ++i) ck_assert_double_eq_tol(place[i], wanted[i], 1e-9);
  ck_assert_uint_eq(columns, width);
  ck_assert_uint_eq(rows, height);
  gsize size = 0;
  const void* data = g_bytes_get_data(gst_dv_object_get_mask_cells(object), &size);
  ck_assert_uint_eq(size, cells.size());
  ck_assert_int_eq(memcmp(data, cells.data(), size), 0);
}

// Details without a place are as they were.
void check_the_rest(const GstDvObject* object) {
  ck_assert_str_eq(gst_dv_object_get_skeleton(object), "face-5");
  ck_assert_str_eq(gst_dv_object_get_text(object), "AB \xef\xbf\xbd 12");
  gsize length = 0;
  const gfloat* embedding = gst_dv_object_get_embedding(object, &length);
  ck_assert_uint_eq(length, 2);
  ck_assert_float_eq(embedding[0], 0.25f);
  ck_assert_float_eq(embedding[1], -1);
  gdouble value = 0;
  ck_assert_uint_eq(gst_dv_object_get_n_numbers(object), 1);
  ck_assert_str_eq(gst_dv_object_get_number(object, 0, &value), "age");
  ck_assert_double_eq(value, 34.5);
  ck_assert(gst_dv_object_find_number(object, "age", &value));
  ck_assert(!gst_dv_object_find_number(object, "size", &value));
  gdouble ground[6];
  ck_assert(gst_dv_object_get_ground(object, &ground[0], &ground[1], &ground[2], &ground[3],
                                     &ground[4], &ground[5]));
  const gdouble wanted[] = {3, -4, 0.5, 1.5, 0.25, 90};
  for (int i = 0; i < 6; ++i) ck_assert_double_eq(ground[i], wanted[i]);
}

void check_everything(const GstDvObject* object) {
  ck_assert_uint_eq(gst_dv_object_get_n_points(object), 2);
  check_point(object, 0, 12, 24, 0.75f);
  check_point(object, 1, 0, 0, 0);  // nowhere: not seen
  ck_assert(!gst_dv_object_get_point(object, 2, nullptr, nullptr, nullptr));
  ck_assert_uint_eq(gst_dv_object_get_n_corners(object), 2);
  check_corner(object, 0, 10, 30);
  check_corner(object, 1, 40, 25);
  check_mask(object, 10, 20, 40, 60, 3, 2, {0, 1, 2, 3, 4, 5});
  check_the_rest(object);
}

struct VideoMatrix {  // "gst-video-matrix" of GStreamer 1.28, as its header declares it
  const GstVideoInfo* in_info;
  GstVideoRectangle in_rectangle;
  const GstVideoInfo* out_info;
  GstVideoRectangle out_rectangle;
  gfloat matrix[3][3];
};

// The frame after a change, as elements tell metas of it.
GstBuffer* changed(GstBuffer* frame, GQuark type, gpointer data) {
  GstBuffer* to = gst_buffer_new_allocate(nullptr, 16, nullptr);
  GstMeta* meta = reinterpret_cast<GstMeta*>(gst_buffer_get_dv_objects_meta(frame));
  ck_assert(meta->info->transform_func(to, meta, frame, type, data));
  return to;
}

GstBuffer* scaled(GstBuffer* frame, int width, int height) {
  GstVideoInfo from = video_info("RGB", 100, 100), to = video_info("RGB", width, height);
  GstVideoMetaTransform data = {&from, &to};
  return changed(frame, gst_video_meta_transform_scale_get_quark(), &data);
}

}  // namespace

DVNN_TEST(objects_without_details_have_none) {
  GstDvObject* object = gst_dv_object_new(GST_DV_OBJECT_ATTRIBUTES, 0, "x", 1);
  gsize length = 1;
  guint width = 1;
  ck_assert_uint_eq(gst_dv_object_get_n_points(object), 0);
  ck_assert_uint_eq(gst_dv_object_get_n_corners(object), 0);
  ck_assert_uint_eq(gst_dv_object_get_n_numbers(object), 0);
  ck_assert_ptr_null(gst_dv_object_get_skeleton(object));
  ck_assert_ptr_null(gst_dv_object_get_text(object));
  ck_assert_ptr_null(gst_dv_object_get_number(object, 0, nullptr));
  ck_assert_ptr_null(gst_dv_object_get_embedding(object, &length));
  ck_assert_uint_eq(length, 0);
  ck_assert(!gst_dv_object_get_mask(object, nullptr, nullptr, nullptr, nullptr, &width, nullptr));
  ck_assert_uint_eq(width, 0);
  ck_assert_ptr_null(gst_dv_object_get_mask_cells(object));
  gst_dv_object_free(object);
}

DVNN_TEST(copies_have_everything_and_change_alone) {
  GstBuffer* frame = frame_with_everything();
  GstBuffer* copy = gst_buffer_copy(frame);
  check_everything(object_on(frame));
  check_everything(object_on(copy));
  // Each change of one is not a change of the other.
  GstDvObject* own = object_on(copy);
  gst_dv_object_add_point(own, 1, 2, 1);
  gst_dv_object_add_corner(own, 1, 2);
  gst_dv_object_set_text(own, nullptr);
  gst_dv_object_set_skeleton(own, nullptr);
  gst_dv_object_set_embedding(own, nullptr, 0);
  gst_dv_object_add_number(own, "size", 1);
  ck_assert(!gst_dv_object_set_mask(own, 0, 0, 1, 1, 1, 1, nullptr));
  check_everything(object_on(frame));
  ck_assert_uint_eq(gst_dv_object_get_n_points(own), 3);
  gdouble age = 0;
  ck_assert_uint_eq(gst_dv_object_get_n_numbers(own), 2);
  ck_assert(gst_dv_object_find_number(own, "age", &age) && age == 34.5);
  ck_assert_ptr_null(gst_dv_object_get_text(own));
  ck_assert_ptr_null(gst_dv_object_get_mask_cells(own));
  GstDvObject* kept = gst_dv_object_copy(object_on(frame));
  gst_buffer_unref(frame);
  gst_buffer_unref(copy);
  check_everything(kept);
  gst_dv_object_free(kept);
}

DVNN_TEST(masks_that_are_not_as_they_say_are_refused) {
  GstDvObject* object = gst_dv_object_new(GST_DV_OBJECT_DETECTION, 0, "x", 1);
  ck_assert(!set_mask(object, 0, 0, 1, 1, 2, 2, {1, 2, 3}));
  ck_assert(!set_mask(object, 0, 0, 1, 1, 0, 0, {}));
  ck_assert(!set_mask(object, 0, 0, 0, 1, 1, 1, {1}));
  ck_assert(!set_mask(object, 0, 0, kNan, 1, 1, 1, {1}));
  ck_assert(!set_mask(object, 0, 0, 1, 1, 1u << 31, 2, {1}));
  ck_assert_ptr_null(gst_dv_object_get_mask_cells(object));
  ck_assert(set_mask(object, 0, 0, 1, 1, 1, 1, {1}));
  ck_assert(!set_mask(object, 0, 0, 1, 1, 2, 1, {1}));  // a bad one removes the good one
  ck_assert_ptr_null(gst_dv_object_get_mask_cells(object));
  gst_dv_object_free(object);
}

DVNN_TEST(details_are_scaled_with_the_frame) {
  GstBuffer* frame = frame_with_everything();
  GstBuffer* larger = scaled(frame, 200, 200);
  const GstDvObject* object = object_on(larger);
  check_point(object, 0, 24, 48, 0.75f);
  check_corner(object, 1, 80, 50);
  check_mask(object, 20, 40, 80, 120, 3, 2, {0, 1, 2, 3, 4, 5});
  check_the_rest(object);
  check_everything(object_on(frame));
  // Another shape: it is not known whether there are borders, so nothing has a place.
  GstBuffer* wider = scaled(frame, 300, 100);
  object = object_on(wider);
  ck_assert(!gst_dv_object_has_box(object));
  ck_assert_uint_eq(gst_dv_object_get_n_points(object), 0);
  ck_assert_uint_eq(gst_dv_object_get_n_corners(object), 0);
  ck_assert_ptr_null(gst_dv_object_get_mask_cells(object));
  check_the_rest(object);
  for (GstBuffer* buffer : {frame, larger, wider}) gst_buffer_unref(buffer);
}

DVNN_TEST(masks_turn_with_the_frame) {
  GstVideoInfo info = video_info("RGB", 100, 100);
  const GstVideoRectangle whole = {0, 0, 100, 100};
  const struct {
    gfloat matrix[3][3];
    double point_x, point_y;
    double place[4];
    guint width, height;
    std::vector<guint8> cells;
  } cases[] = {
      {{{-1, 0, 100}, {0, 1, 0}, {0, 0, 1}}, 88, 24, {60, 20, 90, 60}, 3, 2, {2, 1, 0, 5, 4, 3}},
      {{{1, 0, 0}, {0, -1, 100}, {0, 0, 1}}, 12, 76, {10, 40, 40, 80}, 3, 2, {3, 4, 5, 0, 1, 2}},
      // A quarter turn clockwise: x becomes 100 - y, and y becomes x.
      {{{0, -1, 100}, {1, 0, 0}, {0, 0, 1}}, 76, 12, {40, 10, 80, 40}, 2, 3, {3, 0, 4, 1, 5, 2}},
      {{{0, 1, 0}, {1, 0, 0}, {0, 0, 1}}, 24, 12, {20, 10, 60, 40}, 2, 3, {0, 3, 1, 4, 2, 5}}};
  for (const auto& c : cases) {
    GstBuffer* frame = frame_with_everything();
    VideoMatrix data = {&info, whole, &info, whole, {}};
    std::copy(&c.matrix[0][0], &c.matrix[0][0] + 9, &data.matrix[0][0]);
    GstBuffer* turned = changed(frame, g_quark_from_string("gst-video-matrix"), &data);
    check_point(object_on(turned), 0, c.point_x, c.point_y, 0.75f);
    check_mask(object_on(turned), c.place[0], c.place[1], c.place[2], c.place[3], c.width, c.height,
               c.cells);
    check_everything(object_on(frame));
    gst_buffer_unref(turned);
    gst_buffer_unref(frame);
  }
}

}  // namespace dvnn::test::object_details_tests
