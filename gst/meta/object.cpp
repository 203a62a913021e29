// SPDX-License-Identifier: Apache-2.0
// Objects and passes: what a GstDvObjectsMeta holds.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <utility>

#include "gst/dvnn/gstdvobjectsmeta.h"
#include "image/view.h"
#include "meta/objectdetails.h"
#include "refs.h"

G_DEFINE_BOXED_TYPE(GstDvPass, gst_dv_pass, gst_dv_pass_copy, gst_dv_pass_free)
G_DEFINE_BOXED_TYPE(GstDvObject, gst_dv_object, gst_dv_object_copy, gst_dv_object_free)

// Makes valid UTF-8, as strings in messages and events must be.
static gchar* gst_dv_valid_text(const gchar* text) {
  return g_utf8_make_valid(text ? text : "", -1);
}

/**
 * gst_dv_pass_copy:
 * @pass: a pass
 *
 * Returns: (transfer full): a copy
 *
 * Since: 0.1.0
 */
GstDvPass* gst_dv_pass_copy(const GstDvPass* pass) {
  GstDvPass* copy = g_new0(GstDvPass, 1);
  copy->network = gst_dv_valid_text(pass->network);
  copy->state = pass->state;
  copy->regions = pass->regions;
  return copy;
}

/**
 * gst_dv_pass_free:
 * @pass: (transfer full): a copy of a pass
 *
 * Since: 0.1.0
 */
void gst_dv_pass_free(GstDvPass* pass) {
  g_free(pass->network);
  g_free(pass);
}

/**
 * gst_dv_object_new_id:
 *
 * Returns an id for an object that is not yet in a meta; objects that are added to one get an id.
 *
 * Returns: an id that no other object in this process has
 *
 * Since: 0.1.0
 */
guint64 gst_dv_object_new_id(void) {
  static std::atomic<guint64> last{0};
  return ++last;
}

/**
 * gst_dv_object_new:
 * @kind: kind of the object
 * @class_id: index into the network's labels
 * @label: (nullable): name of its class
 * @confidence: 0..1
 *
 * Returns: (transfer full): an object without an id and without a place, for
 * gst_dv_objects_meta_put_object()
 *
 * Since: 0.1.0
 */
GstDvObject* gst_dv_object_new(GstDvObjectKind kind, gint class_id, const gchar* label,
                               gfloat confidence) {
  GstDvObject* object = g_new0(GstDvObject, 1);
  object->kind = kind;
  object->class_id = class_id;
  object->network = -1;
  object->confidence = confidence >= 0 ? std::min(confidence, 1.0f) : 0;  // 0 if it is no number
  object->label = gst_dv_valid_text(label);
  return object;
}

/**
 * gst_dv_object_copy:
 * @object: an object
 *
 * An object of a meta lives as long as the buffer; a copy lives until it is freed.
 *
 * Returns: (transfer full): a copy, which has the same id
 *
 * Since: 0.1.0
 */
GstDvObject* gst_dv_object_copy(const GstDvObject* object) {
  GstDvObject* copy = g_new0(GstDvObject, 1);
  copy->id = object->id;
  copy->parent = object->parent;
  copy->track_id = object->track_id;
  copy->kind = object->kind;
  copy->class_id = object->class_id;
  copy->network = object->network;
  copy->label = gst_dv_valid_text(object->label);
  copy->confidence = object->confidence;
  gst_dv_object_set_box(copy, object->x0, object->y0, object->x1, object->y1);
  copy->analytics_id = object->analytics_id;
  copy->predicted = object->predicted;
  copy->region = object->region;
  copy->details = dvnn::gst::share_details(object->details);
  return copy;
}

/**
 * gst_dv_object_free:
 * @object: (transfer full): a copy of an object
 *
 * Since: 0.1.0
 */
void gst_dv_object_free(GstDvObject* object) {
  dvnn::gst::release_details(object->details);
  g_free(object->label);
  g_free(object);
}

/**
 * gst_dv_object_set_label:
 * @object: an object
 * @label: (nullable): name of its class; invalid UTF-8 is replaced
 *
 * Since: 0.1.0
 */
void gst_dv_object_set_label(GstDvObject* object, const gchar* label) {
  g_return_if_fail(object != nullptr);
  const dvnn::gst::CharsPtr old(object->label);
  object->label = gst_dv_valid_text(label);
}

/**
 * gst_dv_object_set_box:
 * @object: an object
 * @x0: one edge in pixels of the frame
 * @y0: one edge
 * @x1: the opposite edge
 * @y1: the opposite edge
 *
 * Places the object. Edges are put in order. If one of them is not finite, the object has no place:
 * all four become 0.
 *
 * Since: 0.1.0
 */
void gst_dv_object_set_box(GstDvObject* object, gdouble x0, gdouble y0, gdouble x1, gdouble y1) {
  g_return_if_fail(object != nullptr);
  if (!std::isfinite(x0) || !std::isfinite(y0) || !std::isfinite(x1) || !std::isfinite(y1)) {
    x0 = y0 = x1 = y1 = 0;
  }
  if (x1 < x0) std::swap(x0, x1);
  if (y1 < y0) std::swap(y0, y1);
  object->x0 = x0;
  object->y0 = y0;
  object->x1 = x1;
  object->y1 = y1;
}

/**
 * gst_dv_object_has_box:
 * @object: an object
 *
 * Returns: %TRUE if the object's place in the frame is known
 *
 * Since: 0.1.0
 */
gboolean gst_dv_object_has_box(const GstDvObject* object) {
  g_return_val_if_fail(object != nullptr, FALSE);
  return dvnn::image::is_place({object->x0, object->y0, object->x1, object->y1});
}

/**
 * gst_dv_object_forget_places:
 * @object: an object
 *
 * Removes box, points, outline and mask from an object, because its place is not known any more.
 *
 * Since: 0.1.0
 */
void gst_dv_object_forget_places(GstDvObject* object) {
  g_return_if_fail(object != nullptr);
  gst_dv_object_set_box(object, 0, 0, 0, 0);
  dvnn::gst::forget_detail_places(object);
}
