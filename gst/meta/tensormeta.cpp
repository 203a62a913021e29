// SPDX-License-Identifier: Apache-2.0
#include "gst/dvnn/gstdvtensormeta.h"

#include <cstring>

#include "meta/metas.h"
#include "meta/metatransform.h"

GType gst_dv_tensor_meta_api_get_type(void) {
  static const GType type =
      gst_meta_api_type_register("GstDvTensorMetaAPI", dvnn::gst::frame_meta_tags());
  return type;
}

static gboolean gst_dv_tensor_meta_init(GstMeta* meta, gpointer, GstBuffer*) {
  GstDvTensorMeta* self = reinterpret_cast<GstDvTensorMeta*>(meta);
  const GstMeta parent = self->meta;
  *self = {};
  self->meta = parent;
  self->transform = {1, 0, 1, 0, FALSE, 0, 0};
  return TRUE;
}

static void gst_dv_tensor_meta_free(GstMeta* meta, GstBuffer*) {
  GstDvTensorMeta* self = reinterpret_cast<GstDvTensorMeta*>(meta);
  for (gsize i = 0; self->tensors && i < self->num_tensors; ++i) {
    gst_clear_buffer(&self->tensors[i].data);
  }
  g_clear_pointer(&self->tensors, g_free);
  g_clear_pointer(&self->network, gst_dv_network_info_unref);
}

// Outputs do not depend on the pixels any more: a frame that is copied, converted or scaled keeps
// them by reference, as long as its pixels' places in the network's input are known.
static gboolean gst_dv_tensor_meta_transform(GstBuffer* to, GstMeta* meta, GstBuffer*, GQuark type,
                                             gpointer data) {
  const GstDvTensorMeta* from = reinterpret_cast<GstDvTensorMeta*>(meta);
  dvnn::image::Transform transform = {from->transform.scale_x,          from->transform.offset_x,
                                      from->transform.scale_y,          from->transform.offset_y,
                                      from->transform.swap_xy != FALSE, from->transform.shear_x,
                                      from->transform.shear_y};
  dvnn::image::Corners part = {from->x0, from->y0, from->x1, from->y1};
  if (GST_META_TRANSFORM_IS_COPY(type)) {
    if (static_cast<GstMetaTransformCopy*>(data)->region) return FALSE;
  } else {
    const auto change = dvnn::gst::frame_change(type, data);
    if (!change || !change->exact) {
      GST_CAT_WARNING(
          dvnn::gst::meta_debug(),
          "a network's outputs are lost: the frame went to another shape, and where its "
          "pixels are now is not known");
      return FALSE;
    }
    transform = transform.after(change->transform);
    part = change->transform.apply(part);
  }
  if (!from->tensors && from->num_tensors > 0) return FALSE;
  GstDvTensorMeta* copy = gst_buffer_add_dv_tensor_meta(to, from->num_tensors);
  for (gsize i = 0; i < from->num_tensors; ++i) {
    copy->tensors[i] = from->tensors[i];
    if (copy->tensors[i].data) gst_buffer_ref(copy->tensors[i].data);
  }
  copy->transform = {transform.scale_x, transform.offset_x, transform.scale_y, transform.offset_y,
                     transform.swap_xy, transform.shear_x,  transform.shear_y};
  copy->input_width = from->input_width;
  copy->input_height = from->input_height;
  copy->region = from->region;
  // By memcpy, because a value outside the enumeration must not be read as one.
  std::memcpy(&copy->region_kind, &from->region_kind, sizeof copy->region_kind);
  copy->region_name = from->region_name;
  copy->object = from->object;
  copy->predicted = from->predicted;
  copy->x0 = part.x0, copy->y0 = part.y0, copy->x1 = part.x1, copy->y1 = part.y1;
  if (from->network) copy->network = gst_dv_network_info_ref(from->network);
  return TRUE;
}

/**
 * gst_dv_tensor_meta_get_info: (skip)
 *
 * Since: 0.1.0
 */
const GstMetaInfo* gst_dv_tensor_meta_get_info(void) {
  static const GstMetaInfo* const info = gst_meta_register(
      GST_DV_TENSOR_META_API_TYPE, "GstDvTensorMeta", sizeof(GstDvTensorMeta),
      gst_dv_tensor_meta_init, gst_dv_tensor_meta_free, gst_dv_tensor_meta_transform);
  return info;
}

/**
 * gst_buffer_add_dv_tensor_meta:
 * @buffer: a writable buffer
 * @num_tensors: number of outputs
 *
 * Adds a meta for the outputs of one more network, or of one more region of the frame.
 *
 * Returns: (transfer none): a new meta with @num_tensors empty tensors
 *
 * Since: 0.1.0
 */
GstDvTensorMeta* gst_buffer_add_dv_tensor_meta(GstBuffer* buffer, gsize num_tensors) {
  g_return_val_if_fail(GST_IS_BUFFER(buffer), nullptr);
  auto* meta = reinterpret_cast<GstDvTensorMeta*>(
      gst_buffer_add_meta(buffer, GST_DV_TENSOR_META_INFO, nullptr));
  meta->num_tensors = num_tensors;
  meta->tensors = g_new0(GstDvTensor, num_tensors);
  return meta;
}

/**
 * gst_buffer_get_dv_tensor_meta:
 * @buffer: a buffer
 *
 * Returns: (transfer none) (nullable): the newest meta, which is that of the nearest dvinfer
 * upstream
 *
 * Since: 0.1.0
 */
GstDvTensorMeta* gst_buffer_get_dv_tensor_meta(GstBuffer* buffer) {
  g_return_val_if_fail(GST_IS_BUFFER(buffer), nullptr);
  GstDvTensorMeta* newest = nullptr;
  for (GstDvTensorMeta* meta : dvnn::gst::tensor_metas(buffer)) newest = meta;
  return newest;
}
