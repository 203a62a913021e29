// SPDX-License-Identifier: Apache-2.0
#include "meta/shape.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdarg>
#include <cstring>
#include <memory>

#include "refs.h"

G_DEFINE_BOXED_TYPE(GstDvShape, gst_dv_shape, gst_dv_shape_ref, gst_dv_shape_unref)

// C calls these functions: memory is GLib's, which does not throw.
namespace {

// Shapes that follow frames may get farther away than new ones; beyond this, cairo's coordinates
// end.
constexpr double kFarthest = 4.0 * GST_DV_SHAPE_MAX_PLACE;
constexpr double kMostSize = 1000;  // of thickness and letters, pixels
constexpr gsize kPictureCorners = 3;

G_GNUC_PRINTF(2, 3)
void refuse(GError** error, const char* sentence, ...) {
  if (!error) return;
  va_list values;
  va_start(values, sentence);
  *error = g_error_new_valist(GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS, sentence, values);
  va_end(values);
}

struct ReleaseShape {
  void operator()(GstDvShape* shape) const { gst_dv_shape_unref(shape); }
};
using ShapePtr = std::unique_ptr<GstDvShape, ReleaseShape>;

bool check_places(const gdouble* places, gsize length, GError** error) {
  for (gsize i = 0; i < length; ++i) {
    if (std::fabs(places[i]) <= GST_DV_SHAPE_MAX_PLACE) continue;
    refuse(error, "place %g of a shape is no number of pixels from -%d to %d", places[i],
           GST_DV_SHAPE_MAX_PLACE, GST_DV_SHAPE_MAX_PLACE);
    return false;
  }
  return true;
}

bool check_size(const char* what, gdouble size, GError** error) {
  if (size >= 0 && size <= kMostSize) return true;
  refuse(error, "%s %g is not from 0 (that of dvoverlay) to %g pixels", what, size, kMostSize);
  return false;
}

bool check_way(const char* what, gsize least, gsize length, GError** error) {
  if (length % 2 == 0 && length / 2 >= least && length / 2 <= GST_DV_SHAPE_MAX_POINTS) return true;
  refuse(error, "a %s has x and y of %zu to %d points; there are %zu numbers", what, least,
         GST_DV_SHAPE_MAX_POINTS, length);
  return false;
}

GstDvShape* new_shape(GstDvShapeKind kind, const gdouble* places, gsize length) {
  static std::atomic<guint64> last{0};
  GstDvShape* shape = g_new0(GstDvShape, 1);
  shape->kind = kind;
  shape->owners = 1;
  shape->id = ++last;
  shape->points = g_array_sized_new(FALSE, FALSE, sizeof(gdouble), static_cast<guint>(length));
  g_array_append_vals(shape->points, places, static_cast<guint>(length));
  return shape;
}

GstDvShape* new_way(GstDvShapeKind kind, const char* what, gsize least, const gdouble* places,
                    gsize length, gdouble thickness, GError** error) {
  if (!check_way(what, least, length, error) || !check_places(places, length, error) ||
      !check_size("thickness", thickness, error)) {
    return nullptr;
  }
  GstDvShape* shape = new_shape(kind, places, length);
  shape->size = thickness;
  return shape;
}

guint32 premultiplied(const guint8* pixel, guint channels) {
  const guint32 alpha = channels == 4 ? pixel[3] : 255;
  const auto part = [alpha](guint32 value) { return (value * alpha + 127) / 255; };
  return alpha << 24 | part(pixel[0]) << 16 | part(pixel[1]) << 8 | part(pixel[2]);
}

bool check_picture(gsize size, guint width, guint height, guint channels, gsize stride,
                   GError** error) {
  constexpr guint kMost = GST_DV_SHAPE_MAX_SIDE;
  if (width < 1 || height < 1 || width > kMost || height > kMost) {
    refuse(error, "a picture of %ux%u pixels; it has 1 to %u columns and rows", width, height,
           kMost);
    return false;
  }
  if (channels != 3 && channels != 4) {
    refuse(error, "a picture of %u channels; it has 3 (RGB) or 4 (RGBA)", channels);
    return false;
  }
  const gsize row = gsize{width} * channels;
  // A last row may end with its last pixel, as those of GdkPixbuf do.
  if (stride < row || size < row || (size - row) / stride < height - 1) {
    refuse(error, "%zu bytes, %zu from row to row, are no picture of %ux%u pixels with %u bytes",
           size, stride, width, height, channels);
    return false;
  }
  return true;
}

}  // namespace

namespace dvnn::gst {

GstDvShape* moved_shape(const GstDvShape& shape, const image::Transform& change) {
  ShapePtr moved(
      new_shape(shape.kind, &g_array_index(shape.points, gdouble, 0), shape.points->len));
  moved->id = shape.id;
  moved->color = shape.color;
  moved->fill = shape.fill;
  moved->size =
      shape.size *
      std::sqrt(std::fabs(change.scale_x * change.scale_y - change.shear_x * change.shear_y));
  moved->width = shape.width;
  moved->height = shape.height;
  moved->text = g_strdup(shape.text);
  moved->pixels = shape.pixels ? g_bytes_ref(shape.pixels) : nullptr;
  bool near = std::isfinite(moved->size);
  for (guint i = 0; i < moved->points->len; i += 2) {
    gdouble* point = &g_array_index(moved->points, gdouble, i);
    change.apply(&point[0], &point[1]);
    near = near && std::fabs(point[0]) <= kFarthest && std::fabs(point[1]) <= kFarthest;
  }
  moved->size = std::min(moved->size, kMostSize);
  return near ? moved.release() : nullptr;
}

}  // namespace dvnn::gst

/**
 * gst_dv_shape_new_line:
 * @places: (array length=length): x and y of each point in pixels of the frame, see #GstDvShape
 * @length: number of @places, twice that of the points: 2 to %GST_DV_SHAPE_MAX_POINTS points
 * @color: 0xAARRGGBB
 * @thickness: in pixels of the frame; 0 for dvoverlay's
 * @error: return location for a #GError
 *
 * Makes a line with round ends and corners.
 *
 * Returns: (transfer full): the shape, or %NULL with a sentence in @error
 *
 * Since: 0.1.0
 */
GstDvShape* gst_dv_shape_new_line(const gdouble* places, gsize length, guint32 color,
                                  gdouble thickness, GError** error) {
  GstDvShape* shape = new_way(GST_DV_SHAPE_LINE, "line", 2, places, length, thickness, error);
  if (shape) shape->color = color;
  return shape;
}

/**
 * gst_dv_shape_new_polygon:
 * @places: (array length=length): x and y of each corner in pixels of the frame, see #GstDvShape
 * @length: number of @places, twice that of the corners: 3 to %GST_DV_SHAPE_MAX_POINTS corners
 * @color: 0xAARRGGBB of its edge; alpha 0: it has none
 * @fill: 0xAARRGGBB of its inside; alpha 0: it stays as it is
 * @thickness: of its edge in pixels of the frame; 0 for dvoverlay's
 * @error: return location for a #GError
 *
 * Makes a polygon. Where edges cross, the even-odd rule tells what is inside.
 *
 * Returns: (transfer full): the shape, or %NULL with a sentence in @error
 *
 * Since: 0.1.0
 */
GstDvShape* gst_dv_shape_new_polygon(const gdouble* places, gsize length, guint32 color,
                                     guint32 fill, gdouble thickness, GError** error) {
  GstDvShape* shape = new_way(GST_DV_SHAPE_POLYGON, "polygon", 3, places, length, thickness, error);
  if (!shape) return nullptr;
  shape->color = color;
  shape->fill = fill;
  return shape;
}

/**
 * gst_dv_shape_new_text:
 * @text: a line of UTF-8 of at most %GST_DV_SHAPE_MAX_TEXT bytes; invalid UTF-8 is replaced
 * @x: left edge in pixels of the frame, see #GstDvShape
 * @y: upper edge in pixels of the frame
 * @color: 0xAARRGGBB of the letters
 * @ground: 0xAARRGGBB of the rectangle behind them; alpha 0: there is none
 * @height: of its capital letters in pixels of the frame; 0 for dvoverlay's
 * @error: return location for a #GError
 *
 * Makes a text, upright in every frame. It ends in an ellipsis if it is longer than the frame is
 * wide.
 *
 * Returns: (transfer full): the shape, or %NULL with a sentence in @error
 *
 * Since: 0.1.0
 */
GstDvShape* gst_dv_shape_new_text(const gchar* text, gdouble x, gdouble y, guint32 color,
                                  guint32 ground, gdouble height, GError** error) {
  g_return_val_if_fail(text != nullptr, nullptr);
  const gdouble place[] = {x, y};
  if (strlen(text) > GST_DV_SHAPE_MAX_TEXT) {
    refuse(error, "a text of %zu bytes; it has at most %d", strlen(text), GST_DV_SHAPE_MAX_TEXT);
    return nullptr;
  }
  if (!check_places(place, 2, error) || !check_size("height of letters", height, error)) {
    return nullptr;
  }
  GstDvShape* shape = new_shape(GST_DV_SHAPE_TEXT, place, 2);
  shape->text = g_utf8_make_valid(text, -1);
  shape->color = color;
  shape->fill = ground;
  shape->size = height;
  return shape;
}

/**
 * gst_dv_shape_new_picture:
 * @bytes: the picture, R, G, B and maybe A of each pixel, not multiplied by alpha, as a GdkPixbuf
 *   has them (gdk_pixbuf_read_pixel_bytes()); the shape has a copy
 * @width: columns, at most %GST_DV_SHAPE_MAX_SIDE
 * @height: rows, at most %GST_DV_SHAPE_MAX_SIDE
 * @channels: 3 for RGB, 4 for RGBA
 * @stride: bytes from row to row; 0 if rows follow each other without gaps
 * @x0: left edge of its place in pixels of the frame, see #GstDvShape
 * @y0: upper edge of its place
 * @x1: right edge; if it is less than @x0, the picture is mirrored
 * @y1: lower edge; if it is less than @y0, the picture is upside down
 * @error: return location for a #GError
 *
 * Makes a picture, which is scaled to its place.
 *
 * Returns: (transfer full): the shape, or %NULL with a sentence in @error
 *
 * Since: 0.1.0
 */
GstDvShape* gst_dv_shape_new_picture(GBytes* bytes, guint width, guint height, guint channels,
                                     gsize stride, gdouble x0, gdouble y0, gdouble x1, gdouble y1,
                                     GError** error) {
  g_return_val_if_fail(bytes != nullptr, nullptr);
  // Where the picture's upper left, upper right and lower left corners are.
  const gdouble corners[] = {x0, y0, x1, y0, x0, y1};
  gsize size = 0;
  const auto* from = static_cast<const guint8*>(g_bytes_get_data(bytes, &size));
  if (stride == 0) stride = gsize{width} * channels;
  if (!check_picture(size, width, height, channels, stride, error) ||
      !check_places(corners, 2 * kPictureCorners, error)) {
    return nullptr;
  }
  auto* pixels = g_new(guint32, gsize{width} * height);
  for (guint y = 0; y < height; ++y) {
    for (guint x = 0; x < width; ++x) {
      pixels[gsize{y} * width + x] =
          premultiplied(from + y * stride + gsize{x} * channels, channels);
    }
  }
  GstDvShape* shape = new_shape(GST_DV_SHAPE_PICTURE, corners, 2 * kPictureCorners);
  shape->width = width;
  shape->height = height;
  shape->pixels = g_bytes_new_take(pixels, gsize{width} * height * sizeof(guint32));
  return shape;
}

/**
 * gst_dv_shape_ref:
 * @shape: a shape
 *
 * Returns: (transfer full): the same shape
 *
 * Since: 0.1.0
 */
GstDvShape* gst_dv_shape_ref(GstDvShape* shape) {
  g_return_val_if_fail(shape != nullptr, nullptr);
  g_atomic_int_inc(&shape->owners);
  return shape;
}

/**
 * gst_dv_shape_unref:
 * @shape: (transfer full): a shape
 *
 * Since: 0.1.0
 */
void gst_dv_shape_unref(GstDvShape* shape) {
  g_return_if_fail(shape != nullptr);
  if (!g_atomic_int_dec_and_test(&shape->owners)) return;
  g_array_unref(shape->points);
  g_clear_pointer(&shape->pixels, g_bytes_unref);
  g_free(shape->text);
  g_free(shape);
}

/**
 * gst_dv_shape_get_places:
 * @shape: a shape
 * @length: (out): number of numbers, two for each point
 *
 * Returns: (transfer none) (array length=length): x and y of each point of a line or polygon, of a
 * text's upper left corner, or of a picture's upper left, upper right and lower left corners; in
 * pixels of the frame
 *
 * Since: 0.1.0
 */
const gdouble* gst_dv_shape_get_places(const GstDvShape* shape, gsize* length) {
  g_return_val_if_fail(shape != nullptr && length != nullptr, nullptr);
  *length = shape->points->len;
  return &g_array_index(shape->points, gdouble, 0);
}

/**
 * gst_dv_shape_get_text:
 * @shape: a shape
 *
 * Returns: (transfer none) (nullable): its text, if it is one
 *
 * Since: 0.1.0
 */
const gchar* gst_dv_shape_get_text(const GstDvShape* shape) {
  g_return_val_if_fail(shape != nullptr, nullptr);
  return shape->text;
}

/**
 * gst_dv_shape_get_pixels:
 * @shape: a shape
 *
 * Returns: (transfer none) (nullable): the pixels of a picture, without gaps: 32-bit numbers
 * 0xAARRGGBB in the machine's byte order, multiplied by alpha, as cairo has them
 *
 * Since: 0.1.0
 */
GBytes* gst_dv_shape_get_pixels(const GstDvShape* shape) {
  g_return_val_if_fail(shape != nullptr, nullptr);
  return shape->pixels;
}
