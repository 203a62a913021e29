// SPDX-License-Identifier: Apache-2.0
// An application's shapes as dvoverlay draws them, in every format, below and above the objects.
#include <algorithm>
#include <array>

#include "gst/dvnn/gstdvdrawingmeta.h"
#include "gst/dvnn/gstdvobjectsmeta.h"
#include "gst_fixture.h"

namespace dvnn::test::overlay_shapes_tests {

DVNN_GST_SUITE(gst_overlay_shapes);

namespace {

constexpr int kWidth = 100, kHeight = 80;
constexpr guint32 kRed = 0xffff0000, kGreen = 0xff00ff00, kBlue = 0xff0000ff;

struct Rectangle {
  double x0, y0, x1, y1;
};

void add_shape(GstBuffer* frame, GstDvShape* shape, gint z = 0) {
  ck_assert(shape != nullptr);
  ck_assert(
      gst_dv_drawing_meta_add_shape(gst_buffer_add_dv_drawing_meta(frame), shape, z, nullptr));
  gst_dv_shape_unref(shape);
}

void add_filled(GstBuffer* frame, const Rectangle& r, guint32 color, gint z = 0) {
  const double corners[] = {r.x0, r.y0, r.x1, r.y0, r.x1, r.y1, r.x0, r.y1};
  add_shape(frame, gst_dv_shape_new_polygon(corners, 8, 0, color, 0, nullptr), z);
}

GstBuffer* black_frame(const GstVideoInfo& info) {
  GstVideoInfo rgb = video_info("RGB", GST_VIDEO_INFO_WIDTH(&info), GST_VIDEO_INFO_HEIGHT(&info));
  GstBuffer* black = gst_buffer_new_allocate(nullptr, rgb.size, nullptr);
  gst_buffer_memset(black, 0, 0, rgb.size);
  GstBuffer* frame = converted(black, rgb, info);
  gst_buffer_unref(black);
  return frame;
}

using Rgb = std::array<int, 3>;

class Drawn {
 public:
  Drawn(const std::string& properties, const std::string& format = "RGB", int width = kWidth,
        int height = kHeight)
      : info_(video_info(format, width, height)),
        harness_(gst_harness_new_parse(("dvoverlay " + properties).c_str())) {
    gst_harness_set_src_caps_str(harness_, video_caps(format.c_str(), width, height).c_str());
  }
  ~Drawn() {
    if (out_) gst_buffer_unref(out_);
    gst_harness_teardown(harness_);
  }
  Drawn(const Drawn&) = delete;
  Drawn& operator=(const Drawn&) = delete;

  GstBuffer* frame() const { return black_frame(info_); }
  void draw(GstBuffer* frame) {
    if (out_) gst_buffer_unref(out_);
    out_ = gst_harness_push_and_pull(harness_, frame);
    GstVideoInfo rgb =
        video_info("RGB", GST_VIDEO_INFO_WIDTH(&info_), GST_VIDEO_INFO_HEIGHT(&info_));
    GstBuffer* made = converted(out_, info_, rgb);
    GstVideoFrame b;
    gst_video_frame_map(&b, &rgb, made, GST_MAP_READ);
    width_ = GST_VIDEO_FRAME_PLANE_STRIDE(&b, 0);
    const auto* data = static_cast<const guint8*>(GST_VIDEO_FRAME_PLANE_DATA(&b, 0));
    rgb_.assign(data, data + static_cast<ptrdiff_t>(width_) * GST_VIDEO_INFO_HEIGHT(&rgb));
    gst_video_frame_unmap(&b);
    gst_buffer_unref(made);
  }
  Rgb at(int x, int y) const {
    const size_t i = static_cast<size_t>(y * width_ + 3 * x);
    return {rgb_[i], rgb_[i + 1], rgb_[i + 2]};
  }
  bool is(int x, int y, guint32 color, int tolerance = 0) const {
    const Rgb rgb = at(x, y);
    for (int c = 0; c < 3; ++c) {
      const int wanted = static_cast<int>(color >> (16 - 8 * c) & 255);
      if (std::abs(rgb[static_cast<size_t>(c)] - wanted) > tolerance) return false;
    }
    return true;
  }
  bool is_blank() const {
    return std::all_of(rgb_.begin(), rgb_.end(), [](guint8 v) { return v == 0; });
  }
  GstBuffer* out() const { return out_; }

 private:
  GstVideoInfo info_;
  GstHarness* harness_;
  GstBuffer* out_ = nullptr;
  int width_ = 0;  // bytes of a row
  std::vector<guint8> rgb_;
};

bool is_gray_format(const std::string& format) {
  return format.compare(0, 4, "GRAY") == 0;
}

}  // namespace

// A white square has no colour, so that chroma that is shared by pixels does not matter.
DVNN_TEST(shapes_are_drawn_where_they_are_in_every_format) {
  for (const std::string& format : video_formats()) {
    Drawn drawn("", format);
    GstBuffer* frame = drawn.frame();
    add_filled(frame, {20, 10, 60, 50}, 0xffffffff);
    add_filled(frame, {70, 20, 90, 60}, is_gray_format(format) ? 0xffffffff : kRed);
    drawn.draw(frame);
    constexpr int kSpread = 2;
    for (int y = 0; y < kHeight; ++y) {
      for (int x = 0; x < 66; ++x) {
        const bool inside = x >= 20 && x < 60 && y >= 10 && y < 50;
        const bool near =
            x >= 20 - kSpread && x < 60 + kSpread && y >= 10 - kSpread && y < 50 + kSpread;
        const Rgb rgb = drawn.at(x, y);
        if (inside) {
          ck_assert_msg(rgb[0] > 230 && rgb[1] > 230 && rgb[2] > 230, "%s: %d %d %d at %d,%d",
                        format.c_str(), rgb[0], rgb[1], rgb[2], x, y);
        } else if (!near) {
          ck_assert_msg(rgb[0] < 8 && rgb[1] < 8 && rgb[2] < 8, "%s: %d %d %d at %d,%d",
                        format.c_str(), rgb[0], rgb[1], rgb[2], x, y);
        }
      }
    }
    if (!is_gray_format(format)) {
      const Rgb red = drawn.at(80, 40);
      ck_assert_msg(red[0] > 220 && red[1] < 30 && red[2] < 30, "%s: %d %d %d", format.c_str(),
                    red[0], red[1], red[2]);
    }
  }
}

DVNN_TEST(shapes_are_drawn_in_their_order_around_the_objects) {
  Drawn drawn("line-width=6 draw-labels=false draw-confidence=false");
  GstBuffer* frame = drawn.frame();
  GstDvObject* object = gst_dv_objects_meta_add_object(gst_buffer_add_dv_objects_meta(frame),
                                                       GST_DV_OBJECT_DETECTION, 1, "thing", 1);
  gst_dv_object_set_box(object, 10, 10, 90, 70);
  add_filled(frame, {0, 0, 100, 40}, kRed, -1);
  add_filled(frame, {0, 0, 50, 20}, kGreen, 3);
  add_filled(frame, {0, 0, 50, 80}, kBlue, 2);  // below the green one, above the object
  add_filled(frame, {0, 0, 8, 8}, kRed, 3);     // after the green one, of the same order
  drawn.draw(frame);
  ck_assert(drawn.is(4, 4, kRed));
  ck_assert(drawn.is(20, 12, kGreen));
  ck_assert(drawn.is(20, 30, kBlue));
  ck_assert(drawn.is(13, 50, kBlue));  // over the object's line
  ck_assert(drawn.is(60, 30, kRed));   // inside the object's box
  ck_assert(!drawn.is(60, 12, kRed));  // its line is above the red
  ck_assert(!drawn.is(60, 12, 0));
}

DVNN_TEST(transparent_colors_let_the_frame_shine_through) {
  Drawn drawn("");
  GstBuffer* frame = drawn.frame();
  add_filled(frame, {10, 10, 50, 50}, 0x80ffffff);
  drawn.draw(frame);
  ck_assert(drawn.is(30, 30, 0x808080, 1));
}

DVNN_TEST(lines_texts_and_pictures_are_drawn) {
  Drawn drawn("line-width=4");
  GstBuffer* frame = drawn.frame();
  const double way[] = {10, 10.5, 90, 10.5};
  add_shape(frame, gst_dv_shape_new_line(way, 4, kRed, 0, nullptr));
  add_shape(frame, gst_dv_shape_new_text("text", 10, 30, kGreen, kBlue, 12, nullptr));
  const guint8 rgb[] = {255, 0, 0, 0, 255, 0};
  GBytes* bytes = g_bytes_new_static(rgb, sizeof rgb);
  add_shape(frame, gst_dv_shape_new_picture(bytes, 2, 1, 3, 0, 70, 40, 72, 41, nullptr));
  g_bytes_unref(bytes);
  drawn.draw(frame);
  ck_assert(drawn.is(50, 10, kRed) && drawn.is(50, 9, kRed) && drawn.is(50, 14, 0));
  ck_assert(drawn.is(10, 30, kBlue) && drawn.is(9, 30, 0));
  bool green = false;
  for (int x = 10; x < 50; ++x) {
    for (int y = 30; y < 50; ++y) green = green || drawn.is(x, y, kGreen, 40);
  }
  ck_assert(green);
  ck_assert(drawn.is(70, 40, kRed) && drawn.is(71, 40, kGreen) && drawn.is(72, 40, 0));
}

DVNN_TEST(shapes_are_not_drawn_if_not_asked_for) {
  Drawn drawn("draw-shapes=false");
  GstBuffer* frame = drawn.frame();
  add_filled(frame, {10, 10, 50, 50}, kRed);
  drawn.draw(frame);
  ck_assert(drawn.is_blank());
}

// What is drawn on one frame is gone from the next, and the application's picture may be gone, too.
DVNN_TEST(shapes_last_for_a_frame) {
  Drawn drawn("hold-ms=10000");
  GstBuffer* frame = drawn.frame();
  add_filled(frame, {10, 10, 50, 50}, kRed);
  drawn.draw(frame);
  ck_assert(drawn.is(20, 20, kRed));
  drawn.draw(drawn.frame());
  ck_assert(drawn.is_blank());
}

DVNN_TEST(shapes_travel_to_a_sink_that_draws) {
  GstHarness* h = gst_harness_new("dvoverlay");
  gst_harness_add_propose_allocation_meta(h, GST_VIDEO_OVERLAY_COMPOSITION_META_API_TYPE, nullptr);
  gst_harness_set_sink_caps_str(
      h, "video/x-raw(memory:SystemMemory,meta:GstVideoOverlayComposition),format=RGB");
  gst_harness_set_src_caps_str(h, video_caps("RGB", kWidth, kHeight).c_str());
  GstBuffer* frame = black_frame(video_info("RGB", kWidth, kHeight));
  add_filled(frame, {10, 10, 50, 50}, kRed);
  GstBuffer* out = gst_harness_push_and_pull(h, frame);
  ck_assert(gst_buffer_get_video_overlay_composition_meta(out) != nullptr);
  ck_assert(gst_buffer_memcmp(out, 3 * (20 * 100 + 20), "\0\0\0", 3) == 0);
  gst_buffer_unref(out);
  gst_harness_teardown(h);
}

}  // namespace dvnn::test::overlay_shapes_tests
