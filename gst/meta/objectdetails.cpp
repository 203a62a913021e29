// SPDX-License-Identifier: Apache-2.0
// Details of objects: how copies share them, and those with a place in the frame (points, outline,
// mask). objectfacts.cpp has the others.
#include "meta/objectdetails.h"

#include <algorithm>
#include <cmath>

#include "image/view.h"
#include "refs.h"

using dvnn::image::Corners;
using namespace dvnn::gst;

namespace {

GArray* copy_array(const GArray* from, guint element) {
  if (!from) return nullptr;
  GArray* copy = g_array_sized_new(FALSE, FALSE, element, from->len);
  return g_array_append_vals(copy, from->data, from->len);
}

GArray* copy_numbers(const GArray* from) {
  if (!from) return nullptr;
  GArray* copy = new_numbers();
  for (guint i = 0; i < from->len; ++i) {
    const auto& number = g_array_index(from, DetailNumber, i);
    const DetailNumber same = {g_strdup(number.name), number.value};
    g_array_append_val(copy, same);
  }
  return copy;
}

Details* copy_details(const Details& from) {
  Details* copy = g_new0(Details, 1);
  g_atomic_ref_count_init(&copy->owners);
  copy->points = copy_array(from.points, sizeof(DetailPoint));
  copy->outline = copy_array(from.outline, sizeof(DetailPoint));
  copy->skeleton = g_strdup(from.skeleton);
  copy->text = g_strdup(from.text);
  copy->text_format = g_strdup(from.text_format);
  copy->place = from.place;
  copy->width = from.width;
  copy->height = from.height;
  copy->cells = from.cells ? g_bytes_ref(from.cells) : nullptr;
  copy->embedding = copy_array(from.embedding, sizeof(gfloat));
  copy->numbers = copy_numbers(from.numbers);
  copy->has_ground = from.has_ground;
  copy->ground = from.ground;
  copy->looks = from.looks;
  copy->agreement = from.agreement;
  copy->agreed = from.agreed;
  copy->name = g_strdup(from.name);
  copy->stranger = from.stranger;
  copy->likeness = from.likeness;
  copy->name_agreed = from.name_agreed;
  return copy;
}

// A point without finite coordinates counts as not seen.
void append_point(gdouble x, gdouble y, gfloat confidence, GArray** points) {
  if (!*points) *points = g_array_new(FALSE, FALSE, sizeof(DetailPoint));
  const bool somewhere = std::isfinite(x) && std::isfinite(y);
  const DetailPoint point = {somewhere ? x : 0, somewhere ? y : 0,
                             somewhere && confidence > 0 ? std::min(confidence, 1.0f) : 0.0f};
  g_array_append_val(*points, point);
}

const DetailPoint* point_at(const GArray* points, guint index) {
  return index < length_of(points) ? &g_array_index(points, DetailPoint, index) : nullptr;
}

void move_points(const dvnn::image::Transform& change, GArray* points) {
  for (guint i = 0; i < length_of(points); ++i) {
    auto& point = g_array_index(points, DetailPoint, i);
    change.apply(&point.x, &point.y);
  }
}

void move_mask(const dvnn::image::Transform& change, Details* details) {
  if (!details->cells) return;
  details->place = change.apply(details->place);
  const dvnn::image::CellTurn turn = dvnn::image::turn_of(change);
  if (!turn.moves()) return;
  gsize size = 0;
  const auto* cells = static_cast<const guint8*>(g_bytes_get_data(details->cells, &size));
  auto* turned = static_cast<guint8*>(g_malloc(size));
  dvnn::image::turn_cells(turn, cells, static_cast<int>(details->width),
                          static_cast<int>(details->height), turned);
  g_bytes_unref(details->cells);
  details->cells = g_bytes_new_take(turned, size);
  if (turn.swap_xy) std::swap(details->width, details->height);
}

}  // namespace

namespace dvnn::gst {

static void clear_number(gpointer number) {
  g_free(static_cast<DetailNumber*>(number)->name);
}

GArray* new_numbers() {
  GArray* numbers = g_array_new(FALSE, FALSE, sizeof(DetailNumber));
  g_array_set_clear_func(numbers, clear_number);
  return numbers;
}

Details* own_details(GstDvObject* object) {
  auto* details = static_cast<Details*>(object->details);
  if (details && g_atomic_ref_count_compare(&details->owners, 1)) return details;
  Details* own = copy_details(details ? *details : Details{});
  release_details(details);
  object->details = own;
  return own;
}

gpointer share_details(gpointer details) {
  if (details) g_atomic_ref_count_inc(&static_cast<Details*>(details)->owners);
  return details;
}

void release_details(gpointer shared) {
  auto* details = static_cast<Details*>(shared);
  if (!details || !g_atomic_ref_count_dec(&details->owners)) return;
  g_clear_pointer(&details->points, g_array_unref);
  g_clear_pointer(&details->outline, g_array_unref);
  g_clear_pointer(&details->embedding, g_array_unref);
  g_clear_pointer(&details->numbers, g_array_unref);
  g_clear_pointer(&details->cells, g_bytes_unref);
  g_free(details->skeleton);
  g_free(details->text);
  g_free(details->text_format);
  g_free(details->name);
  g_free(details);
}

void move_details(const image::Transform& change, GstDvObject* object) {
  const Details* details = details_of(object);
  if (!details || (!details->points && !details->outline && !details->cells)) return;
  Details* own = own_details(object);
  move_points(change, own->points);
  move_points(change, own->outline);
  move_mask(change, own);
}

void forget_detail_places(GstDvObject* object) {
  const Details* details = details_of(object);
  if (!details || (!details->points && !details->outline && !details->cells)) return;
  Details* own = own_details(object);
  g_clear_pointer(&own->points, g_array_unref);
  g_clear_pointer(&own->outline, g_array_unref);
  g_clear_pointer(&own->cells, g_bytes_unref);
  own->width = own->height = 0;
  own->place = {};
}

}  // namespace dvnn::gst

/**
 * gst_dv_object_get_n_points:
 * @object: an object
 *
 * Returns: the number of key points; gst_dv_object_get_skeleton() names their set
 *
 * Since: 0.1.0
 */
guint gst_dv_object_get_n_points(const GstDvObject* object) {
  g_return_val_if_fail(object != nullptr, 0);
  return object->details ? length_of(details_of(object)->points) : 0;
}

/**
 * gst_dv_object_get_point:
 * @object: an object
 * @index: a number below gst_dv_object_get_n_points()
 * @x: (out) (optional): in pixels of the frame
 * @y: (out) (optional): in pixels of the frame
 * @confidence: (out) (optional): 0..1; 0 if the network did not see the point
 *
 * Returns: %FALSE if there is no such point
 *
 * Since: 0.1.0
 */
gboolean gst_dv_object_get_point(const GstDvObject* object, guint index, gdouble* x, gdouble* y,
                                 gfloat* confidence) {
  g_return_val_if_fail(object != nullptr, FALSE);
  const DetailPoint* point =
      object->details ? point_at(details_of(object)->points, index) : nullptr;
  if (x) *x = point ? point->x : 0;
  if (y) *y = point ? point->y : 0;
  if (confidence) *confidence = point ? point->confidence : 0;
  return point != nullptr;
}

/**
 * gst_dv_object_add_point:
 * @object: an object
 * @x: in pixels of the frame
 * @y: in pixels of the frame
 * @confidence: 0..1
 *
 * Appends a key point. Without finite coordinates it gets the confidence 0.
 *
 * Since: 0.1.0
 */
void gst_dv_object_add_point(GstDvObject* object, gdouble x, gdouble y, gfloat confidence) {
  g_return_if_fail(object != nullptr);
  append_point(x, y, confidence, &own_details(object)->points);
}

/**
 * gst_dv_object_get_skeleton:
 * @object: an object
 *
 * Returns: (nullable) (transfer none): name of the points' set, such as `coco-17`
 *
 * Since: 0.1.0
 */
const gchar* gst_dv_object_get_skeleton(const GstDvObject* object) {
  g_return_val_if_fail(object != nullptr, nullptr);
  return object->details ? details_of(object)->skeleton : nullptr;
}

/**
 * gst_dv_object_set_skeleton:
 * @object: an object
 * @skeleton: (nullable): name of the points' set
 *
 * Since: 0.1.0
 */
void gst_dv_object_set_skeleton(GstDvObject* object, const gchar* skeleton) {
  g_return_if_fail(object != nullptr);
  gchar* valid = skeleton && *skeleton ? g_utf8_make_valid(skeleton, -1) : nullptr;
  Details* details = own_details(object);
  g_free(details->skeleton);
  details->skeleton = valid;
}

/**
 * gst_dv_object_get_n_corners:
 * @object: an object
 *
 * Returns: the number of corners of the object's outline, an oriented box or a polygon; 0 if it has
 * only a box
 *
 * Since: 0.1.0
 */
guint gst_dv_object_get_n_corners(const GstDvObject* object) {
  g_return_val_if_fail(object != nullptr, 0);
  return object->details ? length_of(details_of(object)->outline) : 0;
}

/**
 * gst_dv_object_get_corner:
 * @object: an object
 * @index: a number below gst_dv_object_get_n_corners(); corners are in order around the object, and
 *   the first edge of text is above it
 * @x: (out) (optional): in pixels of the frame
 * @y: (out) (optional): in pixels of the frame
 *
 * Returns: %FALSE if there is no such corner
 *
 * Since: 0.1.0
 */
gboolean gst_dv_object_get_corner(const GstDvObject* object, guint index, gdouble* x, gdouble* y) {
  g_return_val_if_fail(object != nullptr, FALSE);
  const DetailPoint* corner =
      object->details ? point_at(details_of(object)->outline, index) : nullptr;
  if (x) *x = corner ? corner->x : 0;
  if (y) *y = corner ? corner->y : 0;
  return corner != nullptr;
}

/**
 * gst_dv_object_add_corner:
 * @object: an object
 * @x: in pixels of the frame
 * @y: in pixels of the frame
 *
 * Appends a corner to the outline. A corner without finite coordinates is left out.
 *
 * Since: 0.1.0
 */
void gst_dv_object_add_corner(GstDvObject* object, gdouble x, gdouble y) {
  g_return_if_fail(object != nullptr);
  if (std::isfinite(x) && std::isfinite(y)) append_point(x, y, 1, &own_details(object)->outline);
}

/**
 * gst_dv_object_get_mask:
 * @object: an object
 * @x0: (out) (optional): left edge of the mask's rectangle, in pixels of the frame
 * @y0: (out) (optional): upper edge
 * @x1: (out) (optional): right edge
 * @y1: (out) (optional): lower edge
 * @width: (out) (optional): cells in a row
 * @height: (out) (optional): rows
 *
 * Reads the rectangle of the object's mask, which may reach beyond the frame.
 *
 * Returns: %FALSE if the object has no mask
 *
 * Since: 0.1.0
 */
gboolean gst_dv_object_get_mask(const GstDvObject* object, gdouble* x0, gdouble* y0, gdouble* x1,
                                gdouble* y1, guint* width, guint* height) {
  g_return_val_if_fail(object != nullptr, FALSE);
  const Details* details = details_of(object);
  const bool any = details && details->cells;
  const Corners place = any ? details->place : Corners{};
  if (x0) *x0 = place.x0;
  if (y0) *y0 = place.y0;
  if (x1) *x1 = place.x1;
  if (y1) *y1 = place.y1;
  if (width) *width = any ? details->width : 0;
  if (height) *height = any ? details->height : 0;
  return any;
}

/**
 * gst_dv_object_get_mask_cells:
 * @object: an object
 *
 * A byte per cell, rows from the top. Detections: how surely the cell belongs to the object, 255 is
 * surest, 128 the edge. Segmentations: the index of the cell's class.
 *
 * Returns: (nullable) (transfer none): the cells of the object's mask
 *
 * Since: 0.1.0
 */
GBytes* gst_dv_object_get_mask_cells(const GstDvObject* object) {
  g_return_val_if_fail(object != nullptr, nullptr);
  return object->details ? details_of(object)->cells : nullptr;
}

/**
 * gst_dv_object_set_mask:
 * @object: an object
 * @x0: left edge of the mask's rectangle, in pixels of the frame
 * @y0: upper edge
 * @x1: right edge
 * @y1: lower edge
 * @width: cells in a row
 * @height: rows
 * @cells: (nullable): `width` * `height` bytes, see gst_dv_object_get_mask_cells(); %NULL removes
 *   the mask
 *
 * Returns: %FALSE, and the object has no mask, if the rectangle is empty or not finite, or if the
 * number of bytes is not that of the cells
 *
 * Since: 0.1.0
 */
gboolean gst_dv_object_set_mask(GstDvObject* object, gdouble x0, gdouble y0, gdouble x1, gdouble y1,
                                guint width, guint height, GBytes* cells) {
  constexpr guint kMostCells = 1 << 15;  // of a side
  g_return_val_if_fail(object != nullptr, FALSE);
  const bool placed = std::isfinite(x0) && std::isfinite(y0) && std::isfinite(x1) &&
                      std::isfinite(y1) && x1 > x0 && y1 > y0;
  const bool good = cells && placed && width > 0 && height > 0 && width <= kMostCells &&
                    height <= kMostCells && g_bytes_get_size(cells) == gsize{width} * height;
  if (!good && !gst_dv_object_get_mask_cells(object)) return FALSE;
  Details* details = own_details(object);
  const dvnn::gst::BytesPtr old(details->cells);
  details->cells = good ? g_bytes_ref(cells) : nullptr;
  details->place = good ? Corners{x0, y0, x1, y1} : Corners{};
  details->width = good ? width : 0;
  details->height = good ? height : 0;
  return good;
}
