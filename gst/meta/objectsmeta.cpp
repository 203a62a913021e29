// SPDX-License-Identifier: Apache-2.0
#include "gst/dvnn/gstdvobjectsmeta.h"

#include <algorithm>
#include <memory>

#include "base/nth.h"
#include "meta/metas.h"
#include "meta/metatransform.h"
#include "meta/objectdetails.h"

namespace {

GstDvObject* object_at(const GPtrArray* objects, guint index) {
  return static_cast<GstDvObject*>(g_ptr_array_index(objects, index));
}

GstDvPass* pass_at(const GPtrArray* passes, guint index) {
  return static_cast<GstDvPass*>(g_ptr_array_index(passes, index));
}

// Moves an object to the changed frame; false if nothing of it is left there.
bool follow(const dvnn::gst::FrameChange& change, GstDvObject* object) {
  dvnn::gst::move_details(change.transform, object);
  if (!gst_dv_object_has_box(object)) return true;
  const auto box = change.transform.apply({object->x0, object->y0, object->x1, object->y1});
  const auto& shown = change.shown;
  gst_dv_object_set_box(
      object, std::clamp(box.x0, shown.x0, shown.x1), std::clamp(box.y0, shown.y0, shown.y1),
      std::clamp(box.x1, shown.x0, shown.x1), std::clamp(box.y1, shown.y0, shown.y1));
  return gst_dv_object_has_box(object);
}

// Metas may hold a million objects, and C calls these functions: tables and memory are GLib's,
// which do not throw.
struct Release {
  void operator()(GHashTable* table) const { g_hash_table_unref(table); }
  void operator()(gint* numbers) const { g_free(numbers); }
};
using TablePtr = std::unique_ptr<GHashTable, Release>;
using NumbersPtr = std::unique_ptr<gint[], Release>;

// Adds the passes of `from` that `to` lacks. Returns the index in `to` of each pass of `from`.
NumbersPtr merge_passes(const GstDvObjectsMeta* from, GstDvObjectsMeta* to) {
  NumbersPtr places(g_new(gint, from->passes->len + 1));
  const TablePtr newest(g_hash_table_new(g_str_hash, g_str_equal));  // index + 1 by name
  auto note = [&](guint place) {
    gchar* name = pass_at(to->passes, place)->network;
    if (name) g_hash_table_insert(newest.get(), name, GUINT_TO_POINTER(place + 1));
  };
  for (guint i = 0; i < to->passes->len; ++i) note(i);
  for (guint i = 0; i < from->passes->len; ++i) {
    const GstDvPass* pass = pass_at(from->passes, i);
    const gchar* name = pass->network ? pass->network : "";
    gint place = GPOINTER_TO_INT(g_hash_table_lookup(newest.get(), name)) - 1;
    // Passes of the same name are separate passes, unless this pass was copied before.
    if (place < static_cast<gint>(i)) {
      g_ptr_array_add(to->passes, gst_dv_pass_copy(pass));
      place = static_cast<gint>(to->passes->len) - 1;
      note(static_cast<guint>(place));
    }
    places[i] = place;
  }
  return places;
}

TablePtr ids_of(const GstDvObjectsMeta* meta) {
  TablePtr ids(g_hash_table_new(g_int64_hash, g_int64_equal));
  for (guint i = 0; i < meta->objects->len; ++i) {
    g_hash_table_add(ids.get(), &object_at(meta->objects, i)->id);
  }
  return ids;
}

// Makes parts of removed objects independent objects.
void forget_missing_parents(GstDvObjectsMeta* meta) {
  const TablePtr ids = ids_of(meta);
  for (guint i = 0; i < meta->objects->len; ++i) {
    GstDvObject* object = object_at(meta->objects, i);
    if (object->parent != 0 && !g_hash_table_contains(ids.get(), &object->parent)) {
      object->parent = 0;
    }
  }
}

// Adds the contents of `from`. `place` moves a box, or returns false to drop its object. An object
// that `to` already has, because metas were copied twice, is not added again.
template <typename Place>
void merge(const GstDvObjectsMeta* from, GstDvObjectsMeta* to, Place place) {
  const TablePtr there = ids_of(to);
  const NumbersPtr passes = merge_passes(from, to);
  bool dropped = false;
  for (guint i = 0; i < from->objects->len; ++i) {
    const GstDvObject* object = object_at(from->objects, i);
    if (g_hash_table_contains(there.get(), &object->id)) continue;
    GstDvObject* copy = gst_dv_object_copy(object);
    const bool known = copy->network >= 0 && static_cast<guint>(copy->network) < from->passes->len;
    copy->network = known ? dvnn::nth(passes, copy->network) : -1;
    if (place(copy)) {
      g_ptr_array_add(to->objects, copy);
    } else {
      gst_dv_object_free(copy);
      dropped = true;
    }
  }
  if (dropped) forget_missing_parents(to);
}

}  // namespace

GType gst_dv_objects_meta_api_get_type(void) {
  static const GType type =
      gst_meta_api_type_register("GstDvObjectsMetaAPI", dvnn::gst::frame_meta_tags());
  return type;
}

static gboolean gst_dv_objects_meta_init(GstMeta* meta, gpointer, GstBuffer*) {
  GstDvObjectsMeta* self = reinterpret_cast<GstDvObjectsMeta*>(meta);
  const GstMeta parent = self->meta;
  *self = {};
  self->meta = parent;
  self->objects =
      g_ptr_array_new_with_free_func(reinterpret_cast<GDestroyNotify>(gst_dv_object_free));
  self->passes = g_ptr_array_new_with_free_func(reinterpret_cast<GDestroyNotify>(gst_dv_pass_free));
  return TRUE;
}

static void gst_dv_objects_meta_free(GstMeta* meta, GstBuffer*) {
  GstDvObjectsMeta* self = reinterpret_cast<GstDvObjectsMeta*>(meta);
  g_clear_pointer(&self->objects, g_ptr_array_unref);
  g_clear_pointer(&self->passes, g_ptr_array_unref);
}

static gboolean gst_dv_objects_meta_transform(GstBuffer* to, GstMeta* meta, GstBuffer*, GQuark type,
                                              gpointer data) {
  const auto* from = reinterpret_cast<GstDvObjectsMeta*>(meta);
  if (GST_META_TRANSFORM_IS_COPY(type)) {
    if (static_cast<GstMetaTransformCopy*>(data)->region) return FALSE;
    merge(from, gst_buffer_add_dv_objects_meta(to), [](GstDvObject*) { return true; });
    return TRUE;
  }
  const auto change = dvnn::gst::frame_change(type, data);
  GstDvObjectsMeta* moved = gst_buffer_add_dv_objects_meta(to);
  if (change && change->exact) {
    merge(from, moved, [&](GstDvObject* object) { return follow(*change, object); });
    return TRUE;
  }
  GST_CAT_WARNING(
      dvnn::gst::meta_debug(),
      "objects stay without places: the frame went to another shape (\"%s\"), and where its "
      "pixels are now is not known",
      g_quark_to_string(type));
  merge(from, moved, [](GstDvObject* object) {
    gst_dv_object_forget_places(object);
    return true;
  });
  return TRUE;
}

/**
 * gst_dv_objects_meta_get_info: (skip)
 *
 * Since: 0.1.0
 */
const GstMetaInfo* gst_dv_objects_meta_get_info(void) {
  static const GstMetaInfo* const info = gst_meta_register(
      GST_DV_OBJECTS_META_API_TYPE, "GstDvObjectsMeta", sizeof(GstDvObjectsMeta),
      gst_dv_objects_meta_init, gst_dv_objects_meta_free, gst_dv_objects_meta_transform);
  return info;
}

/**
 * gst_buffer_add_dv_objects_meta:
 * @buffer: a writable buffer
 *
 * Returns: (transfer none): the buffer's meta, which is created empty if there is none
 *
 * Since: 0.1.0
 */
GstDvObjectsMeta* gst_buffer_add_dv_objects_meta(GstBuffer* buffer) {
  g_return_val_if_fail(GST_IS_BUFFER(buffer), nullptr);
  GstMeta* meta = gst_buffer_get_meta(buffer, GST_DV_OBJECTS_META_API_TYPE);
  if (!meta) meta = gst_buffer_add_meta(buffer, GST_DV_OBJECTS_META_INFO, nullptr);
  return reinterpret_cast<GstDvObjectsMeta*>(meta);
}

/**
 * gst_buffer_get_dv_objects_meta:
 * @buffer: a buffer
 *
 * Returns: (transfer none) (nullable): the buffer's meta; no dvinfer has seen the frame if there is
 * none
 *
 * Since: 0.1.0
 */
GstDvObjectsMeta* gst_buffer_get_dv_objects_meta(GstBuffer* buffer) {
  g_return_val_if_fail(GST_IS_BUFFER(buffer), nullptr);
  return reinterpret_cast<GstDvObjectsMeta*>(
      gst_buffer_get_meta(buffer, GST_DV_OBJECTS_META_API_TYPE));
}

/**
 * gst_dv_buffer_is_writable:
 * @buffer: a buffer
 *
 * The macro gst_buffer_is_writable() for other languages, where metas may be added to a buffer only
 * while no one else holds it.
 *
 * Returns: %TRUE if metas may be added to the buffer
 *
 * Since: 0.1.0
 */
gboolean gst_dv_buffer_is_writable(GstBuffer* buffer) {
  g_return_val_if_fail(GST_IS_BUFFER(buffer), FALSE);
  return gst_buffer_is_writable(buffer);
}

/**
 * gst_dv_objects_meta_of_probe:
 * @info: what a pad's probe is called with
 *
 * Returns the meta of a probe's buffer, which is created empty if there is none. The buffer is made
 * writable first, so that another one may take its place: ask @info for the buffer afterwards. For
 * languages whose references make a buffer read-only, such as Python.
 *
 * Returns: (transfer none) (nullable): the meta, which lives as long as the buffer; %NULL if the
 * probe is about no buffer
 *
 * Since: 0.1.0
 */
GstDvObjectsMeta* gst_dv_objects_meta_of_probe(GstPadProbeInfo* info) {
  g_return_val_if_fail(info != nullptr, nullptr);
  GstBuffer* buffer = dvnn::gst::make_probe_writable(info);
  return buffer ? gst_buffer_add_dv_objects_meta(buffer) : nullptr;
}

/**
 * gst_dv_objects_meta_add_pass:
 * @meta: the meta of a writable buffer
 * @network: name of a network
 * @state: what it did with the frame
 *
 * A network that has run counts as shown one region; change the pass if that is wrong.
 *
 * Returns: the index of the new pass
 *
 * Since: 0.1.0
 */
guint gst_dv_objects_meta_add_pass(GstDvObjectsMeta* meta, const gchar* network,
                                   GstDvPassState state) {
  g_return_val_if_fail(meta != nullptr, 0);
  GstDvPass pass = {};
  pass.network = const_cast<gchar*>(network);
  pass.state = state;
  pass.regions = state == GST_DV_PASS_INFERRED ? 1 : 0;
  g_ptr_array_add(meta->passes, gst_dv_pass_copy(&pass));
  return meta->passes->len - 1;
}

/**
 * gst_dv_objects_meta_get_n_passes:
 * @meta: a meta
 *
 * Returns: the number of passes, one for each dvinfer that has seen the frame
 *
 * Since: 0.1.0
 */
guint gst_dv_objects_meta_get_n_passes(const GstDvObjectsMeta* meta) {
  g_return_val_if_fail(meta != nullptr, 0);
  return meta->passes->len;
}

/**
 * gst_dv_objects_meta_get_pass:
 * @meta: a meta
 * @index: a number below gst_dv_objects_meta_get_n_passes(); the last pass is the newest
 *
 * Returns: (transfer none) (nullable): the pass, which lives as long as the buffer
 *
 * Since: 0.1.0
 */
GstDvPass* gst_dv_objects_meta_get_pass(const GstDvObjectsMeta* meta, guint index) {
  g_return_val_if_fail(meta != nullptr, nullptr);
  return index < meta->passes->len ? pass_at(meta->passes, index) : nullptr;
}

/**
 * gst_dv_objects_meta_find_pass:
 * @meta: a meta
 * @network: name of a network
 *
 * Returns: the index of the network's newest pass, or -1
 *
 * Since: 0.1.0
 */
gint gst_dv_objects_meta_find_pass(const GstDvObjectsMeta* meta, const gchar* network) {
  g_return_val_if_fail(meta != nullptr, -1);
  for (guint i = meta->passes->len; i > 0; --i) {
    if (g_strcmp0(pass_at(meta->passes, i - 1)->network, network) == 0) {
      return static_cast<gint>(i) - 1;
    }
  }
  return -1;
}

/**
 * gst_dv_objects_meta_add_object:
 * @meta: the meta of a writable buffer
 * @kind: kind of the object
 * @class_id: index into the network's labels
 * @label: (nullable): name of its class
 * @confidence: 0..1
 *
 * Adds an object with an id of its own and without a place; see gst_dv_object_set_box(). Other
 * fields may be written directly.
 *
 * Returns: (transfer none): the object, which lives as long as the buffer
 *
 * Since: 0.1.0
 */
GstDvObject* gst_dv_objects_meta_add_object(GstDvObjectsMeta* meta, GstDvObjectKind kind,
                                            gint class_id, const gchar* label, gfloat confidence) {
  g_return_val_if_fail(meta != nullptr, nullptr);
  GstDvObject* object = gst_dv_object_new(kind, class_id, label, confidence);
  object->id = gst_dv_object_new_id();
  g_ptr_array_add(meta->objects, object);
  return object;
}

/**
 * gst_dv_objects_meta_put_object:
 * @meta: the meta of a writable buffer
 * @object: an object
 *
 * Adds a copy of an object: in place of the object with the same id, or under a new id if it has
 * none. For languages that get copies of objects.
 *
 * Returns: the object's id
 *
 * Since: 0.1.0
 */
guint64 gst_dv_objects_meta_put_object(GstDvObjectsMeta* meta, const GstDvObject* object) {
  g_return_val_if_fail(meta != nullptr && object != nullptr, 0);
  GstDvObject* copy = gst_dv_object_copy(object);
  if (copy->id == 0) copy->id = gst_dv_object_new_id();
  for (guint i = 0; i < meta->objects->len; ++i) {
    if (object_at(meta->objects, i)->id != copy->id) continue;
    gst_dv_object_free(object_at(meta->objects, i));
    g_ptr_array_index(meta->objects, i) = copy;
    return copy->id;
  }
  g_ptr_array_add(meta->objects, copy);
  return copy->id;
}

/**
 * gst_dv_objects_meta_get_n_objects:
 * @meta: a meta
 *
 * Returns: the number of objects
 *
 * Since: 0.1.0
 */
guint gst_dv_objects_meta_get_n_objects(const GstDvObjectsMeta* meta) {
  g_return_val_if_fail(meta != nullptr, 0);
  return meta->objects->len;
}

/**
 * gst_dv_objects_meta_get_object:
 * @meta: a meta
 * @index: a number below gst_dv_objects_meta_get_n_objects()
 *
 * Returns: (transfer none) (nullable): the object, which lives as long as the buffer; copy it to
 * keep it longer
 *
 * Since: 0.1.0
 */
GstDvObject* gst_dv_objects_meta_get_object(const GstDvObjectsMeta* meta, guint index) {
  g_return_val_if_fail(meta != nullptr, nullptr);
  return index < meta->objects->len ? object_at(meta->objects, index) : nullptr;
}

/**
 * gst_dv_objects_meta_find_object:
 * @meta: a meta
 * @id: an object's id
 *
 * Returns: (transfer none) (nullable): the object of that id
 *
 * Since: 0.1.0
 */
GstDvObject* gst_dv_objects_meta_find_object(const GstDvObjectsMeta* meta, guint64 id) {
  g_return_val_if_fail(meta != nullptr, nullptr);
  for (guint i = 0; i < meta->objects->len; ++i) {
    if (object_at(meta->objects, i)->id == id) return object_at(meta->objects, i);
  }
  return nullptr;
}

/**
 * gst_dv_objects_meta_remove_object:
 * @meta: the meta of a writable buffer
 * @id: an object's id
 *
 * Removes and frees an object; its parts stay, without a parent.
 *
 * Returns: %TRUE if there was such an object
 *
 * Since: 0.1.0
 */
gboolean gst_dv_objects_meta_remove_object(GstDvObjectsMeta* meta, guint64 id) {
  GstDvObject* object = gst_dv_objects_meta_find_object(meta, id);
  if (!object) return FALSE;
  g_ptr_array_remove(meta->objects, object);
  for (guint i = 0; i < meta->objects->len; ++i) {
    GstDvObject* part = object_at(meta->objects, i);
    if (part->parent == id) part->parent = 0;
  }
  return TRUE;
}
