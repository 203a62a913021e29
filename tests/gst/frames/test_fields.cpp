// SPDX-License-Identifier: Apache-2.0
// Buffers that are fields (interlace-mode=alternate): half the rows, while caps and objects are of
// the frame.
#include <cstdio>

#include "gst/dvnn/gstdvobjectsmeta.h"
#include "gst/dvnn/gstdvtensormeta.h"
#include "gst_fixture.h"
#include "streams.h"

namespace dvnn::test::fields_tests {

DVNN_GST_SUITE(gst_fields);

namespace {

std::string field_caps(const std::string& format, int width, int height) {
  GstVideoInfo info;
  ck_assert(gst_video_info_set_interlaced_format(
      &info, gst_video_format_from_string(format.c_str()), GST_VIDEO_INTERLACE_MODE_ALTERNATE,
      static_cast<guint>(width), static_cast<guint>(height)));
  info.fps_n = 25;
  info.fps_d = 1;
  return caps_text(gst_video_info_to_caps(&info));
}

// Attaches what buffer pools attach: the frame's height beside the field's planes.
void add_meta(GstBuffer* field, const std::string& format, int width, int height) {
  const GstVideoInfo info = video_info(format, width, (height + 1) / 2);
  gst_buffer_add_video_meta_full(field, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_INFO_FORMAT(&info),
                                 static_cast<guint>(width), static_cast<guint>(height),
                                 GST_VIDEO_INFO_N_PLANES(&info), const_cast<gsize*>(info.offset),
                                 const_cast<gint*>(info.stride));
}

GstDvObject* add_object(GstBuffer* frame, double x0, double y0, double x1, double y1) {
  GstDvObject* object = gst_dv_objects_meta_add_object(gst_buffer_add_dv_objects_meta(frame),
                                                       GST_DV_OBJECT_DETECTION, 1, "thing", 0.75f);
  gst_dv_object_set_box(object, x0, y0, x1, y1);
  return object;
}

}  // namespace

DVNN_TEST(boxes_are_in_lines_of_the_frame) {
  for (const std::string& format : video_formats()) {
    if (format.rfind("GRAY", 0) == 0) continue;  // the square is red
    for (const char* convert : {"", "dvconvert ! ", "dvconvert video-direction=90r ! "}) {
      for (const bool meta : {false, true}) {
        GstHarness* h = chain(convert + ("dvinfer network=" + network_path()) + " ! dvdecode",
                              field_caps(format, 320, 240));
        GstBuffer* field = red_square(format, 320, 120, 2, 1);
        if (meta) add_meta(field, format, 320, 240);
        GstBuffer* out = gst_harness_push_and_pull(h, field);
        ck_assert_msg(out && found_square(out, 320, 240, 2, 1), "%s, %s", format.c_str(), convert);
        gst_buffer_unref(out);
        gst_harness_teardown(h);
      }
    }
  }
}

// GStreamer's own fields, with the metas and the rate that it gives them.
DVNN_TEST(fields_that_gstreamer_makes_are_inferred) {
  GstElementFactory* factory = gst_element_factory_find("interlace");
  if (!factory) {
    std::printf("skipped: there is no element interlace\n");
    return;
  }
  gst_object_unref(factory);
  GstHarness* h = chain(
      "interlace field-pattern=1:1 ! capsfilter "
      "caps=\"video/x-raw(format:Interlaced),interlace-mode=alternate\" ! dvconvert ! "
      "dvinfer network=" +
          network_path() + " ! dvdecode",
      video_caps("I420", 320, 240));
  for (guint i = 0; i < 4; ++i) {
    GstBuffer* frame = red_square("I420", 320, 240, 2, 1);
    GST_BUFFER_PTS(frame) = i * GST_SECOND / 25;
    ck_assert_int_eq(gst_harness_push(h, frame), GST_FLOW_OK);
  }
  for (int i = 0; i < 4; ++i) {
    GstBuffer* field = gst_harness_pull(h);
    ck_assert_uint_lt(gst_buffer_get_size(field), 320 * 240);
    ck_assert_msg(found_square(field, 320, 240, 2, 1, 3), "field %d", i);
    gst_buffer_unref(field);
  }
  gst_harness_teardown(h);
}

DVNN_TEST(crops_are_in_lines_of_the_frame) {
  GstHarness* h =
      chain("dvinfer network=" + network_path() + " ! dvdecode", field_caps("RGB", 128, 128));
  GstBuffer* field = red_square("RGB", 128, 64, 3, 2);  // lines 64 to 96
  GstVideoCropMeta* crop = gst_buffer_add_video_crop_meta(field);
  crop->x = crop->y = crop->width = crop->height = 64;
  GstBuffer* out = gst_harness_push_and_pull(h, field);
  const std::vector<Found> list = detections(out);
  ck_assert_uint_eq(list.size(), 4);  // cells are a quarter of what the network is shown
  for (const Found& found : list) {
    ck_assert(found.x0 >= 95 && found.y0 >= 63 && found.x1 <= 129 && found.y1 <= 97);
  }
  gst_buffer_unref(out);
  gst_harness_teardown(h);
}

// A field keeps its frame's shape: it is a picture whose pixels are twice as high.
DVNN_TEST(fields_have_the_shape_of_their_frame) {
  std::string tall = video_caps("RGB", 64, 32);
  const std::string square = "pixel-aspect-ratio=(fraction)1/1";
  ck_assert(tall.find(square) != std::string::npos);
  tall.replace(tall.find(square), square.size(), "pixel-aspect-ratio=(fraction)1/2");
  for (const char* how : {"resize=letterbox", "resize=crop", "resize=stretch"}) {
    const std::string line = std::string("dvconvert ") + how + tensors("3:40:30:1", "uint8");
    ck_assert_msg(output_of(line, field_caps("RGB", 64, 64), noise("RGB", 64, 32)) ==
                      output_of(line, tall, noise("RGB", 64, 32)),
                  "%s", how);
  }
}

// Nothing but the box's lines changes, and no byte beside the field: it ends where its memory ends.
DVNN_TEST(boxes_are_drawn_on_fields) {
  for (const int height : {64, 63}) {
    const int rows = (height + 1) / 2;
    GstHarness* h = chain("dvoverlay draw-labels=false draw-confidence=false line-width=2",
                          field_caps("GRAY8", 64, height));
    GstBuffer* field = gst_buffer_new_wrapped(g_malloc0(static_cast<gsize>(64 * rows)),
                                              static_cast<gsize>(64 * rows));
    add_object(field, 10, 20, 50, 60);  // rows 10 to 30
    GstBuffer* out = gst_harness_push_and_pull(h, field);
    const std::vector<uint8_t> pixels = bytes_of(out);
    for (int y = 0; y < rows; ++y) {
      for (int x = 0; x < 64; ++x) {
        const bool inside = x >= 10 && x < 50 && y >= 10 && y < 30;
        const bool middle = x >= 14 && x < 46 && y >= 14 && y < 26;
        const bool upper = inside && y == 10;
        const uint8_t pixel = pixels[static_cast<size_t>(y * 64 + x)];
        ck_assert_msg(pixel == 0 || (inside && !middle), "drawn at %d, %d of %d", x, y, rows);
        ck_assert_msg(pixel != 0 || !upper, "not drawn at %d, %d of %d", x, y, rows);
      }
    }
    gst_buffer_unref(out);
    gst_harness_teardown(h);
  }
}

DVNN_TEST(objects_are_obscured_on_fields) {
  GstHarness* h = chain("dvoverlay hide=thing pixelate=thing", field_caps("GRAY8", 64, 64));
  GstBuffer* field = noise("GRAY8", 64, 32);
  const std::vector<uint8_t> before = bytes_of(field);
  add_object(field, 16, 32, 48, 64);  // rows 16 to 32
  GstBuffer* out = gst_harness_push_and_pull(h, field);
  const std::vector<uint8_t> after = bytes_of(out);
  int same = 0;
  for (size_t i = 0; i < before.size(); ++i) {
    const size_t x = i % 64, y = i / 64;
    const bool inside = x >= 16 && x < 48 && y >= 16;
    if (inside) same += before[i] == after[i];
    if (!inside) ck_assert_uint_eq(before[i], after[i]);
  }
  ck_assert_int_lt(same, 32 * 16 / 16);
  gst_buffer_unref(out);
  gst_harness_teardown(h);
}

DVNN_TEST(tensors_of_fields_say_where_they_are_from) {
  GstHarness* h = chain("dvinfer network=" + network_path(), field_caps("RGB", 64, 48));
  GstBuffer* out = gst_harness_push_and_pull(h, noise("RGB", 64, 24));
  const GstDvTensorMeta* meta = gst_buffer_get_dv_tensor_meta(out);
  ck_assert_ptr_nonnull(meta);
  ck_assert_double_eq(meta->x1, 64);
  ck_assert_double_eq(meta->y1, 48);
  gst_buffer_unref(out);
  gst_harness_teardown(h);
}

}  // namespace dvnn::test::fields_tests
