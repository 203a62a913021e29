// SPDX-License-Identifier: Apache-2.0
// Details of an object without a place in the frame: text, an embedding, numbers, and how far its
// looks agree.
#include "meta/objectdetails.h"

#include <algorithm>
#include <cmath>

using namespace dvnn::gst;

/**
 * gst_dv_object_get_text:
 * @object: an object
 *
 * Returns: (nullable) (transfer none): the text on the object
 *
 * Since: 0.1.0
 */
const gchar* gst_dv_object_get_text(const GstDvObject* object) {
  g_return_val_if_fail(object != nullptr, nullptr);
  return object->details ? details_of(object)->text : nullptr;
}

/**
 * gst_dv_object_set_text:
 * @object: an object
 * @text: (nullable): the text on the object; invalid UTF-8 is replaced
 *
 * Since: 0.1.0
 */
void gst_dv_object_set_text(GstDvObject* object, const gchar* text) {
  g_return_if_fail(object != nullptr);
  gchar* valid = text && *text ? g_utf8_make_valid(text, -1) : nullptr;
  Details* details = own_details(object);
  g_free(details->text);
  details->text = valid;
}

/**
 * gst_dv_object_get_text_format:
 * @object: an object
 *
 * Returns: (nullable) (transfer none): the kind of the code that the text was read from, such as
 * "QR-Code" or "EAN-13"
 *
 * Since: 0.1.0
 */
const gchar* gst_dv_object_get_text_format(const GstDvObject* object) {
  g_return_val_if_fail(object != nullptr, nullptr);
  return object->details ? details_of(object)->text_format : nullptr;
}

/**
 * gst_dv_object_set_text_format:
 * @object: an object
 * @format: (nullable): the kind of the code that the text was read from
 *
 * Since: 0.1.0
 */
void gst_dv_object_set_text_format(GstDvObject* object, const gchar* format) {
  g_return_if_fail(object != nullptr);
  gchar* valid = format && *format ? g_utf8_make_valid(format, -1) : nullptr;
  Details* details = own_details(object);
  g_free(details->text_format);
  details->text_format = valid;
}

/**
 * gst_dv_object_get_embedding:
 * @object: an object
 * @length: (out): number of values
 *
 * Returns: (nullable) (transfer none) (array length=length): values that are similar for similar
 * things; only embeddings of one network can be compared
 *
 * Since: 0.1.0
 */
const gfloat* gst_dv_object_get_embedding(const GstDvObject* object, gsize* length) {
  g_return_val_if_fail(object != nullptr && length != nullptr, nullptr);
  const GArray* values = object->details ? details_of(object)->embedding : nullptr;
  *length = length_of(values);
  return *length > 0 ? reinterpret_cast<const gfloat*>(values->data) : nullptr;
}

/**
 * gst_dv_object_set_embedding:
 * @object: an object
 * @values: (nullable) (array length=length): the values, which are copied
 * @length: number of values
 *
 * Since: 0.1.0
 */
void gst_dv_object_set_embedding(GstDvObject* object, const gfloat* values, gsize length) {
  g_return_if_fail(object != nullptr && length <= G_MAXINT);
  GArray* copy = nullptr;
  if (values && length > 0) {
    copy = g_array_sized_new(FALSE, FALSE, sizeof(gfloat), static_cast<guint>(length));
    g_array_append_vals(copy, values, static_cast<guint>(length));
  }
  Details* details = own_details(object);
  if (details->embedding) g_array_unref(details->embedding);
  details->embedding = copy;
}

/**
 * gst_dv_object_get_n_numbers:
 * @object: an object
 *
 * Returns: the number of estimates about the object, such as its age
 *
 * Since: 0.1.0
 */
guint gst_dv_object_get_n_numbers(const GstDvObject* object) {
  g_return_val_if_fail(object != nullptr, 0);
  return object->details ? length_of(details_of(object)->numbers) : 0;
}

/**
 * gst_dv_object_get_number:
 * @object: an object
 * @index: a number below gst_dv_object_get_n_numbers()
 * @value: (out) (optional): the number
 *
 * Returns: (nullable) (transfer none): name of the number, or %NULL if there is no such number
 *
 * Since: 0.1.0
 */
const gchar* gst_dv_object_get_number(const GstDvObject* object, guint index, gdouble* value) {
  g_return_val_if_fail(object != nullptr, nullptr);
  const bool there = index < gst_dv_object_get_n_numbers(object);
  if (value) *value = 0;
  if (!there) return nullptr;
  const auto& number = g_array_index(details_of(object)->numbers, DetailNumber, index);
  if (value) *value = number.value;
  return number.name;
}

/**
 * gst_dv_object_find_number:
 * @object: an object
 * @name: name of the number
 * @value: (out) (optional): the number
 *
 * Returns: %FALSE if no number has this name
 *
 * Since: 0.1.0
 */
gboolean gst_dv_object_find_number(const GstDvObject* object, const gchar* name, gdouble* value) {
  g_return_val_if_fail(object != nullptr && name != nullptr, FALSE);
  for (guint i = 0; i < gst_dv_object_get_n_numbers(object); ++i) {
    if (g_strcmp0(gst_dv_object_get_number(object, i, value), name) == 0) return TRUE;
  }
  if (value) *value = 0;
  return FALSE;
}

/**
 * gst_dv_object_add_number:
 * @object: an object
 * @name: name of the number
 * @value: the number
 *
 * Since: 0.1.0
 */
void gst_dv_object_add_number(GstDvObject* object, const gchar* name, gdouble value) {
  g_return_if_fail(object != nullptr && name != nullptr);
  const DetailNumber number = {g_utf8_make_valid(name, -1), value};
  Details* details = own_details(object);
  if (!details->numbers) details->numbers = new_numbers();
  g_array_append_val(details->numbers, number);
}

/**
 * gst_dv_object_get_ground:
 * @object: an object
 * @x: (out) (optional): where it stands on the ground, metres
 * @y: (out) (optional): the same along the other axis
 * @deviation: (out) (optional): standard deviation of @x and of @y, metres
 * @speed: (out) (optional): its speed, metres per second
 * @speed_deviation: (out) (optional): standard deviation of @speed
 * @heading: (out) (optional): where it goes, degrees clockwise from the y axis, 0 to 360; it means
 * little while @speed is less than twice its deviation
 *
 * Axes are those of the ground that dvzones has been given.
 *
 * Returns: %FALSE if it is not known where on the ground the object is
 *
 * Since: 0.1.0
 */
gboolean gst_dv_object_get_ground(const GstDvObject* object, gdouble* x, gdouble* y,
                                  gdouble* deviation, gdouble* speed, gdouble* speed_deviation,
                                  gdouble* heading) {
  g_return_val_if_fail(object != nullptr, FALSE);
  const Details* details = details_of(object);
  const bool there = details && details->has_ground;
  const auto ground = there ? details->ground : dvnn::objects::Movement();
  if (x) *x = ground.x;
  if (y) *y = ground.y;
  if (deviation) *deviation = ground.deviation;
  if (speed) *speed = ground.speed;
  if (speed_deviation) *speed_deviation = ground.speed_deviation;
  if (heading) *heading = ground.heading;
  return there ? TRUE : FALSE;
}

/**
 * gst_dv_object_set_ground:
 * @object: an object
 * @x: where it stands on the ground, metres
 * @y: the same along the other axis
 * @deviation: standard deviation of @x and of @y, metres
 * @speed: its speed, metres per second
 * @speed_deviation: standard deviation of @speed
 * @heading: where it goes, degrees clockwise from the y axis
 *
 * Sets how the object moves on the ground. Numbers that are not finite are refused.
 *
 * Since: 0.1.0
 */
void gst_dv_object_set_ground(GstDvObject* object, gdouble x, gdouble y, gdouble deviation,
                              gdouble speed, gdouble speed_deviation, gdouble heading) {
  g_return_if_fail(object != nullptr);
  g_return_if_fail(std::isfinite(x) && std::isfinite(y) && std::isfinite(deviation) &&
                   std::isfinite(speed) && std::isfinite(speed_deviation) &&
                   std::isfinite(heading));
  Details* details = own_details(object);
  details->has_ground = TRUE;
  details->ground = {x, y, deviation, speed, speed_deviation, heading};
}

/**
 * gst_dv_object_get_looks:
 * @object: an object
 *
 * Several looks at an object on a track are compared if dvdecode or dvread is asked to (`agree`):
 * those of an object that is a class, else those that read the object's text, embedding and
 * numbers.
 *
 * Returns: how many looks the reading was made of; 0 if looks are not compared
 *
 * Since: 0.1.0
 */
guint gst_dv_object_get_looks(const GstDvObject* object) {
  g_return_val_if_fail(object != nullptr, 0);
  return object->details ? details_of(object)->looks : 0;
}

/**
 * gst_dv_object_get_agreement:
 * @object: an object
 * @agreed: (out) (optional): whether enough looks agree
 *
 * Returns: the probability that what the looks read together is right, 0..1; see
 * gst_dv_object_get_looks()
 *
 * Since: 0.1.0
 */
gfloat gst_dv_object_get_agreement(const GstDvObject* object, gboolean* agreed) {
  if (agreed) *agreed = FALSE;
  g_return_val_if_fail(object != nullptr, 0);
  const Details* details = details_of(object);
  if (!details || details->looks == 0) return 0;
  if (agreed) *agreed = details->agreed;
  return details->agreement;
}

/**
 * gst_dv_object_set_agreement:
 * @object: an object
 * @looks: how many looks its reading was made of; 0 if looks are not compared
 * @agreement: the probability that it is right, 0..1
 * @agreed: whether enough looks agree
 *
 * Since: 0.1.0
 */
void gst_dv_object_set_agreement(GstDvObject* object, guint looks, gfloat agreement,
                                 gboolean agreed) {
  g_return_if_fail(object != nullptr);
  Details* details = own_details(object);
  details->looks = looks;
  // 0 if it is no number.
  details->agreement = looks > 0 && agreement >= 0 ? std::min(agreement, 1.0f) : 0;
  details->agreed = looks > 0 && agreed;
}

/**
 * gst_dv_object_get_name:
 * @object: an object
 *
 * Returns: (nullable) (transfer none): who the object is by dvmatch's gallery, or %NULL if it is a
 * stranger, or nobody knows
 *
 * Since: 0.1.0
 */
const gchar* gst_dv_object_get_name(const GstDvObject* object) {
  g_return_val_if_fail(object != nullptr, nullptr);
  return object->details ? details_of(object)->name : nullptr;
}

/**
 * gst_dv_object_get_stranger:
 * @object: an object
 *
 * Returns: the lasting number of a stranger, or 0 if the object has a name, or nobody knows
 *
 * Since: 0.1.0
 */
guint64 gst_dv_object_get_stranger(const GstDvObject* object) {
  g_return_val_if_fail(object != nullptr, 0);
  return object->details ? details_of(object)->stranger : 0;
}

/**
 * gst_dv_object_get_likeness:
 * @object: an object
 * @likeness: (out) (optional): the cosine of its embedding to what is kept of the name or stranger,
 * -1..1; 1 for a new stranger
 * @agreed: (out) (optional): whether enough looks agree
 *
 * Returns: %FALSE if it is not known who the object is
 *
 * Since: 0.1.0
 */
gboolean gst_dv_object_get_likeness(const GstDvObject* object, gfloat* likeness, gboolean* agreed) {
  if (likeness) *likeness = 0;
  if (agreed) *agreed = FALSE;
  g_return_val_if_fail(object != nullptr, FALSE);
  const Details* details = details_of(object);
  if (!details || (!details->name && details->stranger == 0)) return FALSE;
  if (likeness) *likeness = details->likeness;
  if (agreed) *agreed = details->name_agreed;
  return TRUE;
}

/**
 * gst_dv_object_set_identity:
 * @object: an object
 * @name: (nullable): who it is; invalid UTF-8 is replaced
 * @stranger: the number of a stranger if @name is %NULL, or 0 if nobody knows
 * @likeness: the cosine of its embedding to what is kept, -1..1
 * @agreed: whether enough looks agree
 *
 * Says who the object is.
 *
 * Since: 0.1.0
 */
void gst_dv_object_set_identity(GstDvObject* object, const gchar* name, guint64 stranger,
                                gfloat likeness, gboolean agreed) {
  g_return_if_fail(object != nullptr);
  gchar* valid = name && *name ? g_utf8_make_valid(name, -1) : nullptr;
  const bool is_known = valid || stranger > 0;
  Details* details = own_details(object);
  g_free(details->name);
  details->name = valid;
  details->stranger = valid ? 0 : stranger;
  // 0 if it is no number.
  const bool is_number = is_known && likeness >= -1 && likeness <= 1;
  details->likeness = is_number ? likeness : 0;
  details->name_agreed = is_known && agreed;
}
