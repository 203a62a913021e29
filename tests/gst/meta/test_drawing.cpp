// SPDX-License-Identifier: Apache-2.0
// An application's drawing on a frame: what is taken and what is refused, and where shapes are once
// the frame has changed.
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>

#include "gst/dvnn/gstdvdrawingmeta.h"
#include "gst_fixture.h"
#include "video_matrix.h"

namespace dvnn::test::drawing_tests {

DVNN_GST_SUITE(gst_drawing);

namespace {

constexpr int kWidth = 320, kHeight = 240;

struct Release {
  void operator()(GstDvShape* shape) const { gst_dv_shape_unref(shape); }
};
using ShapePtr = std::unique_ptr<GstDvShape, Release>;

// Checks that make(error) refuses a shape, by a sentence with `words`.
template <typename Make>
void expect_refusal(const char* words, Make make) {
  GError* error = nullptr;
  ck_assert(make(&error) == nullptr);
  ck_assert_msg(error && std::strstr(error->message, words), "\"%s\" does not say \"%s\"",
                error ? error->message : "", words);
  g_error_free(error);
}

GBytes* bytes_of(gsize size) {
  return g_bytes_new_take(g_malloc0(size), size);
}

GstDvShape* picture(gsize size, guint width, guint height, guint channels, gsize stride,
                    GError** error) {
  GBytes* bytes = bytes_of(size);
  GstDvShape* shape =
      gst_dv_shape_new_picture(bytes, width, height, channels, stride, 0, 0, 10, 10, error);
  g_bytes_unref(bytes);
  return shape;
}

ShapePtr line(const std::vector<double>& places, double thickness = 2) {
  ShapePtr shape(
      gst_dv_shape_new_line(places.data(), places.size(), 0xffff0000, thickness, nullptr));
  ck_assert(shape != nullptr);
  return shape;
}

std::vector<double> places_of(const GstDvShape* shape) {
  gsize length = 0;
  const gdouble* places = gst_dv_shape_get_places(shape, &length);
  return {places, places + length};
}

GstBuffer* frame_with(GstDvShape* shape, gint z = 0) {
  GstBuffer* frame = gst_buffer_new();
  ck_assert(
      gst_dv_drawing_meta_add_shape(gst_buffer_add_dv_drawing_meta(frame), shape, z, nullptr));
  return frame;
}

// Has every meta of a frame follow a change, as elements do.
GstBuffer* changed(GstBuffer* frame, const char* type, gpointer data) {
  GstBuffer* made = gst_buffer_new();
  gpointer state = nullptr;
  while (GstMeta* meta = gst_buffer_iterate_meta(frame, &state)) {
    meta->info->transform_func(made, meta, frame, g_quark_from_string(type), data);
  }
  gst_buffer_unref(frame);
  return made;
}

const GstDvShape* only_shape(GstBuffer* frame) {
  const GstDvDrawingMeta* meta = gst_buffer_get_dv_drawing_meta(frame);
  if (!meta || gst_dv_drawing_meta_get_n_shapes(meta) == 0) return nullptr;
  ck_assert_uint_eq(gst_dv_drawing_meta_get_n_shapes(meta), 1);
  return gst_dv_drawing_meta_get_shape(meta, 0, nullptr);
}

}  // namespace

DVNN_TEST(shapes_that_cannot_be_drawn_are_refused_by_a_sentence) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double few[] = {1, 2, 3, 4, 5}, far[] = {0, 0, 1e6 + 1, 0}, none[] = {0, nan, 1, 1};
  const std::vector<double> many(2 * (GST_DV_SHAPE_MAX_POINTS + 1), 0.0);
  const struct {
    const double* places;
    gsize length;
    double thickness;
    const char* words;
  } lines[] = {{few, 2, 1, "2 to 4096 points; there are 2 numbers"},
               {few, 5, 1, "there are 5 numbers"},
               {far, 4, 1, "place 1e+06"},
               {none, 4, 1, "place nan"},
               {few, 4, -1, "thickness -1"},
               {few, 4, nan, "thickness nan"},
               {many.data(), many.size(), 1, "there are 8194 numbers"}};
  for (const auto& wrong : lines) {
    expect_refusal(wrong.words, [&](GError** error) {
      return gst_dv_shape_new_line(wrong.places, wrong.length, ~0u, wrong.thickness, error);
    });
  }
  expect_refusal("3 to 4096 points",
                 [&](GError** error) { return gst_dv_shape_new_polygon(few, 4, 0, 0, 1, error); });
  const std::string text(GST_DV_SHAPE_MAX_TEXT + 1, 'x');
  expect_refusal("1025 bytes", [&](GError** error) {
    return gst_dv_shape_new_text(text.c_str(), 0, 0, 0, 0, 0, error);
  });
  expect_refusal("place nan", [&](GError** error) {
    return gst_dv_shape_new_text("x", nan, 0, 0, 0, 0, error);
  });
  expect_refusal("letters 1001", [&](GError** error) {
    return gst_dv_shape_new_text("x", 0, 0, 0, 0, 1001, error);
  });
  for (const auto& wrong : {std::array<guint, 5>{48, 0, 4, 3, 0},
                            {48, 4097, 4, 3, 0},
                            {47, 4, 4, 3, 0},
                            {64, 4, 4, 2, 0},
                            {64, 4, 4, 5, 0},
                            {99, 4, 4, 4, 15},
                            {0, 4096, 4096, 4, 0}}) {
    expect_refusal("picture of", [&](GError** error) {
      return picture(wrong[0], wrong[1], wrong[2], wrong[3], wrong[4], error);
    });
  }
  // The last row of a GdkPixbuf may end with its last pixel.
  ck_assert(ShapePtr(picture(16 * 3 + 12, 4, 4, 3, 16, nullptr)) != nullptr);
  ck_assert(gst_dv_shape_new_line(few, 2, 0, 0, nullptr) == nullptr);  // nobody asks why
}

DVNN_TEST(a_frame_has_a_limited_number_of_shapes) {
  GstBuffer* frame = gst_buffer_new();
  GstDvDrawingMeta* meta = gst_buffer_add_dv_drawing_meta(frame);
  ck_assert(gst_buffer_add_dv_drawing_meta(frame) == meta);
  const ShapePtr shape = line({0, 0, 1, 1});
  for (int i = 0; i < GST_DV_DRAWING_MAX_SHAPES; ++i) {
    ck_assert(gst_dv_drawing_meta_add_shape(meta, shape.get(), i, nullptr));
  }
  GError* error = nullptr;
  ck_assert(!gst_dv_drawing_meta_add_shape(meta, shape.get(), 0, &error));
  ck_assert(std::strstr(error->message, "1000 shapes"));
  g_error_free(error);
  gint z = 0;
  ck_assert(gst_dv_drawing_meta_get_shape(meta, 999, &z) == shape.get() && z == 999);
  ck_assert(gst_dv_drawing_meta_get_shape(meta, 1000, &z) == nullptr && z == 0);
  gst_dv_drawing_meta_clear(meta);
  ck_assert_uint_eq(gst_dv_drawing_meta_get_n_shapes(meta), 0);
  gst_buffer_unref(frame);
}

DVNN_TEST(pixels_of_pictures_are_premultiplied_copies) {
  const guint8 rgba[] = {255, 128, 0, 128, 1, 2, 3, 0, 10, 20, 30, 255};
  GBytes* bytes = g_bytes_new_static(rgba, sizeof rgba);
  const ShapePtr shape(gst_dv_shape_new_picture(bytes, 1, 3, 4, 0, 5, 6, 7, 8, nullptr));
  g_bytes_unref(bytes);
  gsize size = 0;
  const auto* pixels =
      static_cast<const guint32*>(g_bytes_get_data(gst_dv_shape_get_pixels(shape.get()), &size));
  ck_assert_uint_eq(size, 12);
  ck_assert_uint_eq(pixels[0], 0x80804000);
  ck_assert_uint_eq(pixels[1], 0);
  ck_assert_uint_eq(pixels[2], 0xff0a141e);
  ck_assert(places_of(shape.get()) == (std::vector<double>{5, 6, 7, 6, 5, 8}));
}

DVNN_TEST(copies_of_a_frame_share_its_shapes) {
  const ShapePtr shape = line({1, 2, 3, 4});
  GstBuffer* frame = frame_with(shape.get(), -7);
  GstBuffer* copy = gst_buffer_copy(frame);
  // A second copy of the metas adds nothing.
  gst_buffer_copy_into(copy, frame, GST_BUFFER_COPY_META, 0, static_cast<gsize>(-1));
  gst_buffer_unref(frame);
  ck_assert(only_shape(copy) == shape.get());
  gint z = 0;
  gst_dv_drawing_meta_get_shape(gst_buffer_get_dv_drawing_meta(copy), 0, &z);
  ck_assert_int_eq(z, -7);
  GstBuffer* part = gst_buffer_copy_region(copy, GST_BUFFER_COPY_META, 0, 0);
  gst_buffer_unref(copy);
  gst_buffer_unref(part);
}

DVNN_TEST(shapes_are_scaled_with_the_frame) {
  GstVideoInfo from = video_info("RGB", kWidth, kHeight), to = video_info("RGB", 640, 480);
  GstVideoMetaTransform scaling = {&from, &to};
  GstBuffer* frame =
      changed(frame_with(line({10, 20, 30, 40}, 3).get(), 5), "gst-video-scale", &scaling);
  const GstDvShape* shape = only_shape(frame);
  ck_assert(shape && places_of(shape) == (std::vector<double>{20, 40, 60, 80}));
  ck_assert_double_eq_tol(shape->size, 6, 1e-9);
  ck_assert_uint_eq(shape->color, 0xffff0000);
  gst_buffer_unref(frame);
  // Borders may have been added, and something unknown may have happened.
  to = video_info("RGB", 300, 300);
  frame = changed(frame_with(line({10, 20, 30, 40}).get()), "gst-video-scale", &scaling);
  ck_assert(only_shape(frame) == nullptr);
  gst_buffer_unref(frame);
  frame = changed(frame_with(line({10, 20, 30, 40}).get()), "something else", &scaling);
  ck_assert(only_shape(frame) == nullptr);
  gst_buffer_unref(frame);
}

// Crops, scales, flips and quarter turns as GStreamer 1.28 describes them.
DVNN_TEST(shapes_are_cropped_and_turned_with_the_frame) {
  const unsigned seed = std::random_device()();
  std::mt19937 random(seed);
  auto between = [&](int low, int high) {
    return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
  };
  GstVideoInfo from = video_info("RGB", kWidth, kHeight);
  for (int round = 0; round < dvnn_rounds(2000); ++round) {
    const int x = between(0, 99), y = between(0, 99), w = between(20, 200), h = between(20, 140);
    const bool turned = random() % 2, flip_x = random() % 2, flip_y = random() % 2;
    const int out_w = between(10, 500), out_h = between(10, 500);
    GstVideoInfo to = video_info("RGB", out_w, out_h);
    const double scale_x = static_cast<double>(out_w) / (turned ? h : w) * (flip_x ? -1 : 1);
    const double scale_y = static_cast<double>(out_h) / (turned ? w : h) * (flip_y ? -1 : 1);
    VideoMatrix matrix = {&from, {x, y, w, h}, &to, {0, 0, out_w, out_h}, {}};
    matrix.matrix[0][turned ? 1 : 0] = static_cast<gfloat>(scale_x);
    matrix.matrix[1][turned ? 0 : 1] = static_cast<gfloat>(scale_y);
    matrix.matrix[0][2] = static_cast<gfloat>(flip_x ? out_w : 0);
    matrix.matrix[1][2] = static_cast<gfloat>(flip_y ? out_h : 0);
    matrix.matrix[2][2] = 1;
    const double px = between(-50, 400), py = between(-50, 300);
    GBytes* bytes = bytes_of(4);
    const ShapePtr shapes[] = {
        line({px, py, px + 9, py - 4}, 4),
        ShapePtr(gst_dv_shape_new_text("text", px, py, 1, 2, 10, nullptr)),
        ShapePtr(gst_dv_shape_new_picture(bytes, 1, 1, 4, 0, px, py, px + 8, py + 6, nullptr))};
    g_bytes_unref(bytes);
    for (const ShapePtr& shape : shapes) {
      GstBuffer* frame = changed(frame_with(shape.get()), "gst-video-matrix", &matrix);
      const GstDvShape* moved = only_shape(frame);
      ck_assert_msg(moved && moved->kind == shape->kind, "seed %u", seed);
      const std::vector<double> before = places_of(shape.get()), after = places_of(moved);
      ck_assert_uint_eq(before.size(), after.size());
      for (size_t i = 0; i < before.size(); i += 2) {
        // The part of the frame that stays, in fractions, from the edge where the new frame begins.
        double u = (before[i] - x) / w, v = (before[i + 1] - y) / h;
        if (turned) std::swap(u, v);
        const double wanted_x = out_w * (flip_x ? 1 - u : u),
                     wanted_y = out_h * (flip_y ? 1 - v : v);
        ck_assert_msg(
            std::fabs(after[i] - wanted_x) < 1e-3 && std::fabs(after[i + 1] - wanted_y) < 1e-3,
            "seed %u: %g,%g instead of %g,%g", seed, after[i], after[i + 1], wanted_x, wanted_y);
      }
      const double area = static_cast<double>(out_w) * out_h / (static_cast<double>(w) * h);
      ck_assert_double_eq_tol(moved->size, std::min(1000.0, shape->size * std::sqrt(area)), 1e-3);
      ck_assert(g_strcmp0(gst_dv_shape_get_text(moved), gst_dv_shape_get_text(shape.get())) == 0);
      ck_assert(gst_dv_shape_get_pixels(moved) == gst_dv_shape_get_pixels(shape.get()));
      gst_buffer_unref(frame);
    }
  }
}

DVNN_TEST(shapes_that_get_too_far_away_are_dropped) {
  GstVideoInfo from = video_info("RGB", 16, 16), to = video_info("RGB", 1600, 1600);
  GstVideoMetaTransform scaling = {&from, &to};
  GstBuffer* frame = frame_with(line({0, 0, 900000, 0}).get());
  frame = changed(frame, "gst-video-scale", &scaling);
  ck_assert(only_shape(frame) == nullptr);
  gst_buffer_unref(frame);
}

// A probe's buffer that others hold, too, is copied.
DVNN_TEST(probes_draw_on_frames_of_their_own) {
  GstBuffer* frame = gst_buffer_new();
  gst_buffer_ref(frame);
  GstPadProbeInfo info = {};
  info.type = GST_PAD_PROBE_TYPE_BUFFER;
  info.data = frame;
  GstDvDrawingMeta* meta = gst_dv_drawing_meta_of_probe(&info);
  ck_assert(meta && info.data != frame && gst_buffer_get_dv_drawing_meta(frame) == nullptr);
  ck_assert(gst_buffer_get_dv_drawing_meta(GST_PAD_PROBE_INFO_BUFFER(&info)) == meta);
  ck_assert(gst_dv_drawing_meta_of_probe(&info) == meta);
  ck_assert(!gst_dv_buffer_is_writable(gst_buffer_ref(frame)));
  gst_buffer_unref(frame);
  gst_buffer_unref(frame);
  gst_buffer_unref(GST_PAD_PROBE_INFO_BUFFER(&info));
  info.type = GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM;
  ck_assert(gst_dv_drawing_meta_of_probe(&info) == nullptr);
}

}  // namespace dvnn::test::drawing_tests
