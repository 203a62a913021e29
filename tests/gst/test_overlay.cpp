// SPDX-License-Identifier: Apache-2.0
// What dvoverlay draws, read back as RGB.
#include "gst_fixture.h"

using namespace dvnn::test;

namespace {

// A gray frame with one detection.
GstBuffer* frame_with_box(const GstVideoInfo& info, double x0, double y0, double x1, double y1) {
  GstBuffer* buffer = gst_buffer_new_allocate(nullptr, info.size, nullptr);
  gst_buffer_memset(buffer, 0, 128, info.size);
  if (GST_VIDEO_INFO_FORMAT(&info) == GST_VIDEO_FORMAT_I420_10LE) {  // 512 of 1023
    for (gsize i = 0; i < info.size; i += 2) {
      gst_buffer_memset(buffer, i, 0, 1);
      gst_buffer_memset(buffer, i + 1, 2, 1);
    }
  }
  GstVideoRegionOfInterestMeta* roi = gst_buffer_add_video_region_of_interest_meta(
      buffer, "thing", static_cast<guint>(x0), static_cast<guint>(y0), static_cast<guint>(x1 - x0),
      static_cast<guint>(y1 - y0));
  gst_video_region_of_interest_meta_add_param(
      roi, gst_structure_new("detection", "label", G_TYPE_STRING, "thing", "confidence",
                             G_TYPE_DOUBLE, 0.75, "class-id", G_TYPE_INT, 1, "x0", G_TYPE_DOUBLE,
                             x0, "y0", G_TYPE_DOUBLE, y0, "x1", G_TYPE_DOUBLE, x1, "y1",
                             G_TYPE_DOUBLE, y1, nullptr));
  return buffer;
}

struct Picture {
  int width = 0;
  std::vector<guint8> rgb;
  // Greatest difference of a pixel from mid-gray.
  int contrast(int x, int y) const {
    int most = 0;
    for (int c = 0; c < 3; ++c) {
      most = std::max(most, std::abs(rgb[static_cast<size_t>((y * width + x) * 3 + c)] - 128));
    }
    return most;
  }
};

Picture to_rgb(GstBuffer* buffer, const GstVideoInfo& info) {
  const int w = GST_VIDEO_INFO_WIDTH(&info), h = GST_VIDEO_INFO_HEIGHT(&info);
  GstVideoInfo rgb = video_info("RGB", w, h), from = info;
  GstBuffer* out = gst_buffer_new_allocate(nullptr, rgb.size, nullptr);
  GstVideoFrame a, b;
  gst_video_frame_map(&a, &from, buffer, GST_MAP_READ);
  gst_video_frame_map(&b, &rgb, out, GST_MAP_READWRITE);
  GstVideoConverter* converter = gst_video_converter_new(&from, &rgb, nullptr);
  gst_video_converter_frame(converter, &a, &b);
  gst_video_converter_free(converter);
  Picture picture;
  picture.width = w;
  for (int y = 0; y < h; ++y) {
    const guint8* row = static_cast<guint8*>(GST_VIDEO_FRAME_PLANE_DATA(&b, 0)) +
                        y * GST_VIDEO_FRAME_PLANE_STRIDE(&b, 0);
    picture.rgb.insert(picture.rgb.end(), row, row + 3 * w);
  }
  gst_video_frame_unmap(&a);
  gst_video_frame_unmap(&b);
  gst_buffer_unref(out);
  return picture;
}

// Chroma subsampling spreads a line by a pixel.
constexpr int kSpread = 2;

void check_box(const char* format, int width, int height) {
  const GstVideoInfo info = video_info(format, width, height);
  GstHarness* h = gst_harness_new_parse("dvoverlay labels=false confidence=false line-width=2");
  gst_harness_set_src_caps_str(h, video_caps(format, width, height).c_str());
  const int x0 = 20, y0 = 30, x1 = 70, y1 = 60;
  GstBuffer* out = gst_harness_push_and_pull(h, frame_with_box(info, x0, y0, x1, y1));
  const Picture picture = to_rgb(out, info);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const bool inside = x >= x0 && x < x1 && y >= y0 && y < y1;
      const bool line = inside && (x < x0 + 2 || x >= x1 - 2 || y < y0 + 2 || y >= y1 - 2);
      const bool beside = x >= x0 - kSpread && x < x1 + kSpread && y >= y0 - kSpread &&
                          y < y1 + kSpread &&
                          !(x >= x0 + 2 + kSpread && x < x1 - 2 - kSpread &&
                            y >= y0 + 2 + kSpread && y < y1 - 2 - kSpread);
      const int contrast = picture.contrast(x, y);
      if (line)
        ck_assert_msg(contrast > 15, "%s %dx%d: no line at %d,%d", format, width, height, x, y);
      // Limited-range mid-gray converts to 130: a few levels off are no drawing.
      if (!beside) {
        ck_assert_msg(contrast <= 4, "%s %dx%d: drawn (%d) at %d,%d", format, width, height,
                      contrast, x, y);
      }
    }
  }
  gst_buffer_unref(out);
  gst_harness_teardown(h);
}

}  // namespace

START_TEST(boxes_are_drawn_where_they_are_in_every_format) {
  for (const char* format : {"RGB",  "BGR",  "RGBx", "BGRx",  "xRGB",      "xBGR",     "RGBA",
                             "BGRA", "ARGB", "ABGR", "NV12",  "NV21",      "NV16",     "I420",
                             "YV12", "YUY2", "UYVY", "GRAY8", "P010_10LE", "I420_10LE"}) {
    check_box(format, 100, 80);
    check_box(format, 101, 81);
  }
}
END_TEST

START_TEST(labels_are_readable_at_any_size) {
  for (int height : {48, 120, 480, 1080}) {
    const int width = height * 16 / 9;
    const GstVideoInfo info = video_info("RGB", width, height);
    GstHarness* h = gst_harness_new_parse("dvoverlay");
    gst_harness_set_src_caps_str(h, video_caps("RGB", width, height).c_str());
    GstBuffer* out = gst_harness_push_and_pull(
        h, frame_with_box(info, width * 0.25, height * 0.5, width * 0.75, height * 0.9));
    const Picture picture = to_rgb(out, info);
    int tall = 0;  // rows above the box that carry the label's background
    for (int y = 0; y < height / 2; ++y) tall += picture.contrast(width / 4 + 3, y) > 15;
    ck_assert_msg(tall >= 9, "%d rows of %d", tall, height);
    ck_assert_msg(tall <= height / 3, "%d rows of %d", tall, height);
    gst_buffer_unref(out);
    gst_harness_teardown(h);
  }
}
END_TEST

START_TEST(boxes_beyond_the_frame_are_clipped) {
  const GstVideoInfo info = video_info("I420", 64, 64);
  GstHarness* h = gst_harness_new_parse("dvoverlay");
  gst_harness_set_src_caps_str(h, video_caps("I420", 64, 64).c_str());
  const double boxes[][4] = {{0, 0, 64, 64}, {60, 60, 64, 64}, {0, 0, 1, 1}, {63, 0, 64, 64}};
  for (const auto& b : boxes) {
    gst_buffer_unref(gst_harness_push_and_pull(h, frame_with_box(info, b[0], b[1], b[2], b[3])));
  }
  gst_harness_teardown(h);
}
END_TEST

START_TEST(a_shared_frame_is_not_drawn_on) {
  const GstVideoInfo info = video_info("RGB", 64, 64);
  GstHarness* h = gst_harness_new_parse("dvoverlay");
  gst_harness_set_src_caps_str(h, video_caps("RGB", 64, 64).c_str());
  GstBuffer* frame = frame_with_box(info, 10, 30, 50, 50);
  // The other branch of a tee: the same buffer, and one more that shares its memory.
  GstBuffer* same = gst_buffer_ref(frame);
  GstBuffer* sharing = gst_buffer_copy(frame);
  GstBuffer* out = gst_harness_push_and_pull(h, frame);
  ck_assert_int_gt(to_rgb(out, info).contrast(10, 30), 15);
  for (GstBuffer* other : {same, sharing}) {
    GstMapInfo map;
    gst_buffer_map(other, &map, GST_MAP_READ);
    for (gsize i = 0; i < map.size; ++i) ck_assert_uint_eq(map.data[i], 128);
    gst_buffer_unmap(other, &map);
    gst_buffer_unref(other);
  }
  gst_buffer_unref(out);
  gst_harness_teardown(h);
}
END_TEST

int main() {
  return run_gst_suite(
      "overlay", {boxes_are_drawn_where_they_are_in_every_format, labels_are_readable_at_any_size,
                  boxes_beyond_the_frame_are_clipped, a_shared_frame_is_not_drawn_on});
}
