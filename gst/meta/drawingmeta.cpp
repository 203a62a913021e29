// SPDX-License-Identifier: Apache-2.0
#include "gst/dvnn/gstdvdrawingmeta.h"

#include <memory>

#include "meta/metas.h"
#include "meta/metatransform.h"
#include "meta/shape.h"

// C calls these functions: memory is GLib's, which does not throw.
namespace {

struct DrawingEntry {
  GstDvShape* shape;
  gint z;
};

const DrawingEntry& entry_at(const GstDvDrawingMeta* meta, guint index) {
  return g_array_index(meta->entries, DrawingEntry, index);
}

struct ReleaseIds {
  void operator()(GHashTable* table) const { g_hash_table_unref(table); }
};
using IdsPtr = std::unique_ptr<GHashTable, ReleaseIds>;

// Adds the shapes of `from`, moved by `move` (transfer full; null: dropped). Shapes that `to`
// already has, because metas were copied twice, are not added again.
template <typename Move>
void merge_shapes(const GstDvDrawingMeta* from, GstDvDrawingMeta* to, Move move) {
  const IdsPtr there(g_hash_table_new(g_int64_hash, g_int64_equal));
  for (guint i = 0; i < to->entries->len; ++i) {
    g_hash_table_add(there.get(), &entry_at(to, i).shape->id);
  }
  for (guint i = 0; i < from->entries->len; ++i) {
    const DrawingEntry& entry = entry_at(from, i);
    if (g_hash_table_contains(there.get(), &entry.shape->id)) continue;
    GstDvShape* shape = move(entry.shape);
    if (!shape) continue;
    const DrawingEntry moved = {shape, entry.z};
    g_array_append_val(to->entries, moved);
  }
}

}  // namespace

GType gst_dv_drawing_meta_api_get_type(void) {
  static const GType type =
      gst_meta_api_type_register("GstDvDrawingMetaAPI", dvnn::gst::frame_meta_tags());
  return type;
}

static gboolean gst_dv_drawing_meta_init(GstMeta* meta, gpointer, GstBuffer*) {
  auto* self = reinterpret_cast<GstDvDrawingMeta*>(meta);
  const GstMeta parent = self->meta;
  *self = {};
  self->meta = parent;
  self->entries = g_array_new(FALSE, FALSE, sizeof(DrawingEntry));
  g_array_set_clear_func(self->entries, [](gpointer entry) {
    gst_dv_shape_unref(static_cast<DrawingEntry*>(entry)->shape);
  });
  return TRUE;
}

static void gst_dv_drawing_meta_free(GstMeta* meta, GstBuffer*) {
  auto* self = reinterpret_cast<GstDvDrawingMeta*>(meta);
  g_clear_pointer(&self->entries, g_array_unref);
}

static gboolean gst_dv_drawing_meta_transform(GstBuffer* to, GstMeta* meta, GstBuffer*, GQuark type,
                                              gpointer data) {
  const auto* from = reinterpret_cast<GstDvDrawingMeta*>(meta);
  if (GST_META_TRANSFORM_IS_COPY(type)) {
    if (static_cast<GstMetaTransformCopy*>(data)->region) return FALSE;
    merge_shapes(from, gst_buffer_add_dv_drawing_meta(to), gst_dv_shape_ref);
    return TRUE;
  }
  const auto change = dvnn::gst::frame_change(type, data);
  if (!change || !change->exact) {
    GST_CAT_WARNING(dvnn::gst::meta_debug(),
                    "an application's drawing is dropped: the frame went to another shape "
                    "(\"%s\"), and where its pixels are now is not known",
                    g_quark_to_string(type));
    return FALSE;
  }
  merge_shapes(from, gst_buffer_add_dv_drawing_meta(to), [&](const GstDvShape* shape) {
    return dvnn::gst::moved_shape(*shape, change->transform);
  });
  return TRUE;
}

/**
 * gst_dv_drawing_meta_get_info: (skip)
 *
 * Since: 0.1.0
 */
const GstMetaInfo* gst_dv_drawing_meta_get_info(void) {
  static const GstMetaInfo* const info = gst_meta_register(
      GST_DV_DRAWING_META_API_TYPE, "GstDvDrawingMeta", sizeof(GstDvDrawingMeta),
      gst_dv_drawing_meta_init, gst_dv_drawing_meta_free, gst_dv_drawing_meta_transform);
  return info;
}

/**
 * gst_buffer_add_dv_drawing_meta:
 * @buffer: a writable buffer
 *
 * Returns: (transfer none): the buffer's meta, which is created empty if there is none
 *
 * Since: 0.1.0
 */
GstDvDrawingMeta* gst_buffer_add_dv_drawing_meta(GstBuffer* buffer) {
  g_return_val_if_fail(GST_IS_BUFFER(buffer), nullptr);
  GstMeta* meta = gst_buffer_get_meta(buffer, GST_DV_DRAWING_META_API_TYPE);
  if (!meta) meta = gst_buffer_add_meta(buffer, GST_DV_DRAWING_META_INFO, nullptr);
  return reinterpret_cast<GstDvDrawingMeta*>(meta);
}

/**
 * gst_buffer_get_dv_drawing_meta:
 * @buffer: a buffer
 *
 * Returns: (transfer none) (nullable): the buffer's meta, if there is one
 *
 * Since: 0.1.0
 */
GstDvDrawingMeta* gst_buffer_get_dv_drawing_meta(GstBuffer* buffer) {
  g_return_val_if_fail(GST_IS_BUFFER(buffer), nullptr);
  return reinterpret_cast<GstDvDrawingMeta*>(
      gst_buffer_get_meta(buffer, GST_DV_DRAWING_META_API_TYPE));
}

/**
 * gst_dv_drawing_meta_of_probe:
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
GstDvDrawingMeta* gst_dv_drawing_meta_of_probe(GstPadProbeInfo* info) {
  g_return_val_if_fail(info != nullptr, nullptr);
  GstBuffer* buffer = dvnn::gst::make_probe_writable(info);
  return buffer ? gst_buffer_add_dv_drawing_meta(buffer) : nullptr;
}

/**
 * gst_dv_drawing_meta_add_shape:
 * @meta: the meta of a writable buffer
 * @shape: a shape
 * @z: below 0: it is drawn before the objects, which then cover it; else after them. Shapes are
 *   drawn in rising order, those of the same @z in the order in which they are added
 * @error: return location for a #GError
 *
 * Adds a shape to what is drawn on the frame.
 *
 * Returns: %FALSE, with a sentence in @error, if the frame already has %GST_DV_DRAWING_MAX_SHAPES
 *
 * Since: 0.1.0
 */
gboolean gst_dv_drawing_meta_add_shape(GstDvDrawingMeta* meta, GstDvShape* shape, gint z,
                                       GError** error) {
  g_return_val_if_fail(meta != nullptr && shape != nullptr, FALSE);
  if (meta->entries->len >= GST_DV_DRAWING_MAX_SHAPES) {
    g_set_error(error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
                "the frame already has %d shapes, and may have no more", GST_DV_DRAWING_MAX_SHAPES);
    return FALSE;
  }
  const DrawingEntry entry = {gst_dv_shape_ref(shape), z};
  g_array_append_val(meta->entries, entry);
  return TRUE;
}

/**
 * gst_dv_drawing_meta_get_n_shapes:
 * @meta: a meta
 *
 * Returns: the number of shapes
 *
 * Since: 0.1.0
 */
guint gst_dv_drawing_meta_get_n_shapes(const GstDvDrawingMeta* meta) {
  g_return_val_if_fail(meta != nullptr, 0);
  return meta->entries->len;
}

/**
 * gst_dv_drawing_meta_get_shape:
 * @meta: a meta
 * @index: a number below gst_dv_drawing_meta_get_n_shapes(), in the order in which they were added
 * @z: (out) (optional): its order, see gst_dv_drawing_meta_add_shape()
 *
 * Returns: (transfer none) (nullable): the shape, which lives at least as long as the buffer
 *
 * Since: 0.1.0
 */
GstDvShape* gst_dv_drawing_meta_get_shape(const GstDvDrawingMeta* meta, guint index, gint* z) {
  g_return_val_if_fail(meta != nullptr, nullptr);
  const bool there = index < meta->entries->len;
  if (z) *z = there ? entry_at(meta, index).z : 0;
  return there ? entry_at(meta, index).shape : nullptr;
}

/**
 * gst_dv_drawing_meta_clear:
 * @meta: the meta of a writable buffer
 *
 * Removes all shapes.
 *
 * Since: 0.1.0
 */
void gst_dv_drawing_meta_clear(GstDvDrawingMeta* meta) {
  g_return_if_fail(meta != nullptr);
  g_array_set_size(meta->entries, 0);
}
