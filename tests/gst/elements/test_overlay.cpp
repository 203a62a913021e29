// SPDX-License-Identifier: Apache-2.0
// dvoverlay's drawings, read back as RGB.
#include <algorithm>

#include "gst/dvnn/gstdvobjectsmeta.h"
#include "gst_fixture.h"

namespace dvnn::test::overlay_tests {

DVNN_GST_SUITE(gst_overlay);

namespace {

// A gray frame with one detection.
GstBuffer* frame_with_box(const GstVideoInfo& info, double x0, double y0, double x1, double y1) {
  GstBuffer* buffer = gst_buffer_new_allocate(nullptr, info.size, nullptr);
  gst_buffer_memset(buffer, 0, 128, info.size);
  const GstVideoFormat format = GST_VIDEO_INFO_FORMAT(&info);
  const bool is_565 = format == GST_VIDEO_FORMAT_RGB16 || format == GST_VIDEO_FORMAT_BGR16;
  if (is_565 || format == GST_VIDEO_FORMAT_I420_10LE) {
    // 16 of 31 and 32 of 63, or 512 of 1023.
    const guint value = is_565 ? 0x8410 : 0x0200;
    for (gsize i = 0; i < info.size; i += 2) {
      gst_buffer_memset(buffer, i, value & 255, 1);
      gst_buffer_memset(buffer, i + 1, value >> 8, 1);
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
  GstVideoInfo rgb = video_info("RGB", w, h);
  GstBuffer* out = converted(buffer, info, rgb);
  GstVideoFrame b;
  gst_video_frame_map(&b, &rgb, out, GST_MAP_READ);
  Picture picture;
  picture.width = w;
  for (int y = 0; y < h; ++y) {
    const guint8* row = static_cast<guint8*>(GST_VIDEO_FRAME_PLANE_DATA(&b, 0)) +
                        y * GST_VIDEO_FRAME_PLANE_STRIDE(&b, 0);
    picture.rgb.insert(picture.rgb.end(), row, row + 3 * w);
  }
  gst_video_frame_unmap(&b);
  gst_buffer_unref(out);
  return picture;
}

// Chroma subsampling spreads a line by a pixel.
constexpr int kSpread = 2;

void check_box(const std::string& name, int width, int height) {
  const char* const format = name.c_str();
  const GstVideoInfo info = video_info(name, width, height);
  GstHarness* h =
      gst_harness_new_parse("dvoverlay draw-labels=false draw-confidence=false line-width=2");
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

GstBuffer* gray_frame(const GstVideoInfo& info, GstClockTime pts = GST_CLOCK_TIME_NONE) {
  GstBuffer* frame = gst_buffer_new_allocate(nullptr, info.size, nullptr);
  gst_buffer_memset(frame, 0, 128, info.size);
  GST_BUFFER_PTS(frame) = pts;
  return frame;
}

GstDvObject* add_object(GstBuffer* frame, double x0, double y0, double x1, double y1,
                        const char* label = "thing") {
  GstDvObjectsMeta* meta = gst_buffer_add_dv_objects_meta(frame);
  GstDvObject* object =
      gst_dv_objects_meta_add_object(meta, GST_DV_OBJECT_DETECTION, 1, label, 0.75f);
  gst_dv_object_set_box(object, x0, y0, x1, y1);
  return object;
}

// A frame that a network has looked at, with an object, or passed.
GstBuffer* passed_frame(const GstVideoInfo& info, GstClockTime pts, GstDvPassState state,
                        bool with_object, const char* network = "net", double x = 10) {
  GstBuffer* frame = gray_frame(info, pts);
  GstDvObjectsMeta* meta = gst_buffer_add_dv_objects_meta(frame);
  const guint pass = gst_dv_objects_meta_add_pass(meta, network, state);
  if (with_object) add_object(frame, x, 30, x + 30, 50)->network = static_cast<gint>(pass);
  return frame;
}

class Overlay {
 public:
  explicit Overlay(const std::string& properties, const char* format = "RGB", int width = 64,
                   int height = 64)
      : info_(video_info(format, width, height)),
        harness_(gst_harness_new_parse(("dvoverlay " + properties).c_str())) {
    gst_harness_set_src_caps_str(harness_, video_caps(format, width, height).c_str());
  }
  ~Overlay() { gst_harness_teardown(harness_); }
  Overlay(const Overlay&) = delete;
  Overlay& operator=(const Overlay&) = delete;

  const GstVideoInfo& info() const { return info_; }
  GstHarness* harness() { return harness_; }
  Picture draw(GstBuffer* frame) {
    GstBuffer* out = gst_harness_push_and_pull(harness_, frame);
    const Picture picture = to_rgb(out, info_);
    gst_buffer_unref(out);
    return picture;
  }

 private:
  GstVideoInfo info_;
  GstHarness* harness_;
};

bool is_blank(const Picture& picture) {
  return std::all_of(picture.rgb.begin(), picture.rgb.end(), [](guint8 v) { return v == 128; });
}

const char* const kPlain = "draw-labels=false draw-confidence=false line-width=2";

}  // namespace

DVNN_TEST(boxes_are_drawn_where_they_are_in_every_format) {
  for (const std::string& format : video_formats()) {
    check_box(format, 100, 80);
    check_box(format, 101, 81);
  }
}

DVNN_TEST(labels_are_readable_at_any_size) {
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

DVNN_TEST(boxes_beyond_the_frame_are_clipped) {
  const GstVideoInfo info = video_info("I420", 64, 64);
  GstHarness* h = gst_harness_new_parse("dvoverlay");
  gst_harness_set_src_caps_str(h, video_caps("I420", 64, 64).c_str());
  const double boxes[][4] = {{0, 0, 64, 64}, {60, 60, 64, 64}, {0, 0, 1, 1}, {63, 0, 64, 64}};
  for (const auto& b : boxes) {
    gst_buffer_unref(gst_harness_push_and_pull(h, frame_with_box(info, b[0], b[1], b[2], b[3])));
  }
  gst_harness_teardown(h);
}

DVNN_TEST(a_shared_frame_is_not_drawn_on) {
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

DVNN_TEST(objects_are_drawn) {
  Overlay overlay(kPlain);
  GstBuffer* frame = gray_frame(overlay.info());
  add_object(frame, 10, 20, 40, 50);
  add_object(frame, 0, 0, 0, 0);  // it is not known where this one is
  const Picture picture = overlay.draw(frame);
  ck_assert_int_gt(picture.contrast(10, 20), 15);
  ck_assert_int_gt(picture.contrast(39, 49), 15);
  ck_assert_int_eq(picture.contrast(25, 35), 0);
  ck_assert_int_eq(picture.contrast(0, 0), 0);
}

DVNN_TEST(an_object_and_its_region_are_drawn_once) {
  Overlay overlay(kPlain);
  GstBuffer* frame = gray_frame(overlay.info());
  // The frame was scaled: the object followed, and a copy of its region did not.
  const GstDvObject* object = add_object(frame, 10, 10, 30, 30);
  GstVideoRegionOfInterestMeta* roi =
      gst_buffer_add_video_region_of_interest_meta(frame, "thing", 40, 40, 20, 20);
  roi->id = static_cast<gint>(object->id);
  const Picture picture = overlay.draw(frame);
  ck_assert_int_gt(picture.contrast(10, 10), 15);
  ck_assert_int_eq(picture.contrast(40, 40), 0);
}

DVNN_TEST(regions_of_other_makers_are_drawn) {
  Overlay overlay("line-width=1 text-height=9", "RGB", 128, 128);
  GstBuffer* frame = gray_frame(overlay.info());
  // The same id as an object of ours, but of another type.
  const GstDvObject* object = add_object(frame, 100, 100, 110, 110);
  GstVideoRegionOfInterestMeta* roi =
      gst_buffer_add_video_region_of_interest_meta(frame, "face", 40, 40, 20, 20);
  roi->id = static_cast<gint>(object->id);
  const Picture picture = overlay.draw(frame);
  ck_assert_int_gt(picture.contrast(40, 50), 15);
  ck_assert_int_gt(picture.contrast(42, 36), 15);  // its type stands above
  ck_assert_int_eq(picture.contrast(50, 50), 0);
}

DVNN_TEST(a_scaled_region_is_drawn_where_it_is_now) {
  Overlay overlay(kPlain);
  // As an element leaves it that scales the rectangle and keeps the structure as it was.
  GstBuffer* frame = frame_with_box(overlay.info(), 40, 40, 60, 60);
  auto* roi = reinterpret_cast<GstVideoRegionOfInterestMeta*>(
      gst_buffer_get_meta(frame, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE));
  roi->x = roi->y = 10;
  roi->w = roi->h = 5;
  const Picture picture = overlay.draw(frame);
  ck_assert_int_gt(picture.contrast(10, 10), 15);
  ck_assert_int_eq(picture.contrast(40, 40), 0);
}

DVNN_TEST(passed_frames_show_the_last_objects_for_a_while) {
  const struct {
    const char* hold;
    GstClockTime later;
    bool shown;
  } cases[] = {{"hold-ms=1000", 40 * GST_MSECOND, true},
               {"hold-ms=1000", 1000 * GST_MSECOND, true},
               {"hold-ms=1000", 1001 * GST_MSECOND, false},
               {"hold-ms=50", 60 * GST_MSECOND, false},
               {"hold-ms=0", 40 * GST_MSECOND, false}};
  for (const auto& c : cases) {
    Overlay overlay(std::string(kPlain) + " " + c.hold);
    const GstVideoInfo& info = overlay.info();
    ck_assert(!is_blank(overlay.draw(passed_frame(info, GST_SECOND, GST_DV_PASS_INFERRED, true))));
    const Picture later =
        overlay.draw(passed_frame(info, GST_SECOND + c.later, GST_DV_PASS_SKIPPED, false));
    ck_assert_msg(is_blank(later) != c.shown, "%s", c.hold);
    if (c.shown) ck_assert_int_gt(later.contrast(10, 30), 15);
  }
}

DVNN_TEST(objects_end_when_the_network_finds_none) {
  Overlay overlay(kPlain);
  const GstVideoInfo& info = overlay.info();
  overlay.draw(passed_frame(info, 0, GST_DV_PASS_INFERRED, true));
  ck_assert(is_blank(overlay.draw(passed_frame(info, 1, GST_DV_PASS_INFERRED, false))));
  ck_assert(is_blank(overlay.draw(passed_frame(info, 2, GST_DV_PASS_SKIPPED, false))));
}

DVNN_TEST(each_network_holds_its_own_objects) {
  Overlay overlay(kPlain);
  const GstVideoInfo& info = overlay.info();
  overlay.draw(passed_frame(info, 0, GST_DV_PASS_INFERRED, true, "a", 2));
  // "b" finds one, "a" has passed the frame.
  GstBuffer* frame = passed_frame(info, 1, GST_DV_PASS_INFERRED, true, "b", 33);
  gst_dv_objects_meta_add_pass(gst_buffer_get_dv_objects_meta(frame), "a", GST_DV_PASS_SKIPPED);
  const Picture picture = overlay.draw(frame);
  ck_assert_int_gt(picture.contrast(2, 30), 15);
  ck_assert_int_gt(picture.contrast(33, 30), 15);
}

DVNN_TEST(a_jump_of_the_stream_forgets_held_objects) {
  using Jump = void (*)(GstHarness*);
  const Jump jumps[] = {
      [](GstHarness* h) {
        gst_harness_push_event(h, gst_event_new_flush_start());
        gst_harness_push_event(h, gst_event_new_flush_stop(FALSE));
        GstSegment segment;
        gst_segment_init(&segment, GST_FORMAT_TIME);
        gst_harness_push_event(h, gst_event_new_segment(&segment));
      },
      [](GstHarness* h) { gst_harness_push_event(h, gst_event_new_stream_start("another")); },
      [](GstHarness* h) {
        gst_harness_set_src_caps_str(h, video_caps("RGB", 64, 48).c_str());
        gst_harness_set_src_caps_str(h, video_caps("RGB", 64, 64).c_str());
      }};
  for (const Jump jump : jumps) {
    Overlay overlay(kPlain);
    const GstVideoInfo& info = overlay.info();
    overlay.draw(passed_frame(info, 0, GST_DV_PASS_INFERRED, true));
    jump(overlay.harness());
    ck_assert(is_blank(overlay.draw(passed_frame(info, 1, GST_DV_PASS_SKIPPED, false))));
  }
}

// --- what others write -------------------------------------------------------------------------

DVNN_TEST(absurd_boxes_do_no_harm) {
  Overlay overlay("line-width=2");
  const double huge = 1e300, nan = NAN;
  const double boxes[][4] = {{-huge, -huge, huge, huge}, {1e6, 1e6, 2e6, 2e6},
                             {-5, -5, -1, -1},           {0, 0, 1e6, 10},
                             {nan, 0, 10, 10},           {63.9, 63.9, 64, 64}};
  for (const auto& box : boxes) {
    GstBuffer* frame = gray_frame(overlay.info());
    GstDvObject* object = add_object(frame, 0, 0, 1, 1);
    object->x0 = box[0], object->y0 = box[1], object->x1 = box[2], object->y1 = box[3];
    object->class_id = G_MININT;
    overlay.draw(frame);
  }
  for (guint w : {0u, 1000000u, G_MAXUINT}) {
    for (guint x : {0u, 32u, G_MAXUINT}) {
      GstBuffer* frame = gray_frame(overlay.info());
      gst_buffer_add_video_region_of_interest_meta(frame, "wide", x, 0, w, w);
      overlay.draw(frame);
    }
  }
}

DVNN_TEST(long_labels_and_many_objects_have_limits) {
  Overlay overlay("text-height=500");
  GstBuffer* frame = gray_frame(overlay.info());
  const std::string megabytes(4 << 20, 'x');
  std::string umlauts;
  for (int i = 0; i < 100; ++i) umlauts += "\xc3\xa4";
  add_object(frame, 1, 1, 60, 60, megabytes.c_str());
  add_object(frame, 1, 1, 60, 60, umlauts.c_str());
  for (int i = 0; i < 20000; ++i) {
    add_object(frame, i % 60, 1, i % 60 + 3, 60, ("l" + std::to_string(i)).c_str())->class_id = i;
  }
  const gint64 begin = g_get_monotonic_time();
  ck_assert(!is_blank(overlay.draw(frame)));
  ck_assert_int_lt(g_get_monotonic_time() - begin, 20 * G_TIME_SPAN_SECOND);
}

DVNN_TEST(absurd_pixel_aspect_ratios_have_limits) {
  for (const char* par : {"1/65535", "65535/1"}) {
    GstHarness* h = gst_harness_new_parse("dvoverlay");
    gst_harness_set_src_caps_str(
        h, ("video/x-raw,format=RGB,width=320,height=240,framerate=25/1,pixel-aspect-ratio=" +
            std::string(par))
               .c_str());
    const GstVideoInfo info = video_info("RGB", 320, 240);
    GstBuffer* out = gst_harness_push_and_pull(h, frame_with_box(info, 100, 100, 200, 200));
    ck_assert_int_gt(to_rgb(out, info).contrast(150, 100), 15);
    gst_buffer_unref(out);
    gst_harness_teardown(h);
  }
}

DVNN_TEST(a_frame_with_lying_strides_is_refused) {
  const struct {
    const char* format;
    gint stride;
    bool good;
  } cases[] = {{"BGRx", 1 << 20, false}, {"BGRx", 16, false},   {"BGRx", 256, true},
               {"NV12", 64, true},       {"NV12", 65, false},   {"UYVY", 128, true},
               {"UYVY", 126, false},     {"I420_10LE", 0, true}};
  for (const auto& c : cases) {
    const GstVideoInfo info = video_info(c.format, 64, 64);
    Overlay overlay(kPlain, c.format);
    GstBuffer* frame = gray_frame(info);
    add_object(frame, 10, 10, 60, 60);
    gsize offsets[GST_VIDEO_MAX_PLANES];
    gint strides[GST_VIDEO_MAX_PLANES];
    std::copy(info.offset, info.offset + GST_VIDEO_MAX_PLANES, offsets);
    std::copy(info.stride, info.stride + GST_VIDEO_MAX_PLANES, strides);
    if (c.stride) strides[0] = c.stride;
    if (c.stride == 65) strides[1] = c.stride;
    gst_buffer_add_video_meta_full(frame, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_INFO_FORMAT(&info),
                                   64, 64, info.finfo->n_planes, offsets, strides);
    ck_assert_msg(
        gst_harness_push(overlay.harness(), frame) == (c.good ? GST_FLOW_OK : GST_FLOW_ERROR),
        "%s, stride %d", c.format, c.stride);
  }
}

// GStreamer blends by vectors of pixels: on such frames it would end the process.
DVNN_TEST(a_frame_whose_rows_begin_between_pixels_is_refused) {
  for (const char* format : {"BGRx", "YUY2", "NV12", "P010_10LE"}) {
    for (gsize shift : {0, 1}) {
      const GstVideoInfo info = video_info(format, 64, 64);
      Overlay overlay(kPlain, format);
      GstBuffer* frame = gst_buffer_new_allocate(nullptr, info.size + 64, nullptr);
      gst_buffer_memset(frame, 0, 128, info.size + 64);
      add_object(frame, 10, 10, 60, 60);
      gsize offsets[GST_VIDEO_MAX_PLANES];
      gint strides[GST_VIDEO_MAX_PLANES];
      std::copy(info.stride, info.stride + GST_VIDEO_MAX_PLANES, strides);
      for (guint i = 0; i < GST_VIDEO_MAX_PLANES; ++i) offsets[i] = info.offset[i] + shift;
      gst_buffer_add_video_meta_full(frame, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_INFO_FORMAT(&info),
                                     64, 64, info.finfo->n_planes, offsets, strides);
      ck_assert_msg(
          gst_harness_push(overlay.harness(), frame) == (shift ? GST_FLOW_ERROR : GST_FLOW_OK),
          "%s, %zu bytes off", format, shift);
    }
  }
}

}  // namespace dvnn::test::overlay_tests
