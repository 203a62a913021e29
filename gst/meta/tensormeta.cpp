// SPDX-License-Identifier: Apache-2.0
// The tensor meta and what it carries: the one part of the plugin that applications link.
#include <gst/video/video.h>

#include "gst/dvnn/gstdvtensormeta.h"

struct _GstDvNetworkInfo {
  gint references;
  gchar* name;
  gchar* decoder;
  gchar* decoder_params;
  gchar** labels;
};

G_DEFINE_BOXED_TYPE(GstDvNetworkInfo, gst_dv_network_info, gst_dv_network_info_ref,
                    gst_dv_network_info_unref)

/**
 * gst_dv_network_info_new:
 * @name: the network's name
 * @decoder: name of the decoder of its outputs, "" for none
 * @decoder_params: its parameters as JSON
 * @labels: (array zero-terminated=1): labels by class id
 *
 * Returns: (transfer full): a description with one reference
 */
GstDvNetworkInfo* gst_dv_network_info_new(const gchar* name, const gchar* decoder,
                                          const gchar* decoder_params, const gchar* const* labels) {
  GstDvNetworkInfo* info = g_new0(GstDvNetworkInfo, 1);
  info->references = 1;
  info->name = g_strdup(name);
  info->decoder = g_strdup(decoder);
  info->decoder_params = g_strdup(decoder_params);
  info->labels = g_strdupv(const_cast<gchar**>(labels));
  return info;
}

GstDvNetworkInfo* gst_dv_network_info_ref(GstDvNetworkInfo* info) {
  g_atomic_int_inc(&info->references);
  return info;
}

void gst_dv_network_info_unref(GstDvNetworkInfo* info) {
  if (!g_atomic_int_dec_and_test(&info->references)) return;
  g_free(info->name);
  g_free(info->decoder);
  g_free(info->decoder_params);
  g_strfreev(info->labels);
  g_free(info);
}

const gchar* gst_dv_network_info_get_name(const GstDvNetworkInfo* info) {
  return info->name;
}

const gchar* gst_dv_network_info_get_decoder(const GstDvNetworkInfo* info) {
  return info->decoder;
}

const gchar* gst_dv_network_info_get_decoder_params(const GstDvNetworkInfo* info) {
  return info->decoder_params;
}

const gchar* const* gst_dv_network_info_get_labels(const GstDvNetworkInfo* info) {
  return info->labels;
}

GType gst_dv_tensor_meta_api_get_type(void) {
  static GType type = 0;
  // Tensors belong to the frame's pixels: they do not survive a change of size or place.
  static const gchar* tags[] = {GST_META_TAG_VIDEO_STR, GST_META_TAG_VIDEO_SIZE_STR,
                                GST_META_TAG_VIDEO_ORIENTATION_STR, nullptr};
  if (g_once_init_enter(&type)) {
    const GType made = gst_meta_api_type_register("GstDvTensorMetaAPI", tags);
    g_once_init_leave(&type, made);
  }
  return type;
}

static gboolean gst_dv_tensor_meta_init(GstMeta* meta, gpointer, GstBuffer*) {
  GstDvTensorMeta* self = reinterpret_cast<GstDvTensorMeta*>(meta);
  self->role = GST_DV_TENSOR_ROLE_INPUT;
  self->num_tensors = 0;
  self->tensors = nullptr;
  self->transform = {1, 0, 1, 0, FALSE};
  self->input_width = self->input_height = 0;
  self->network = nullptr;
  return TRUE;
}

static void gst_dv_tensor_meta_free(GstMeta* meta, GstBuffer*) {
  GstDvTensorMeta* self = reinterpret_cast<GstDvTensorMeta*>(meta);
  for (gsize i = 0; i < self->num_tensors; ++i) gst_clear_buffer(&self->tensors[i].data);
  g_free(self->tensors);
  g_clear_pointer(&self->network, gst_dv_network_info_unref);
}

// A copy of the whole frame keeps its tensors: by reference, as they are not changed any more.
static gboolean gst_dv_tensor_meta_transform(GstBuffer* to, GstMeta* meta, GstBuffer*, GQuark type,
                                             gpointer data) {
  const GstDvTensorMeta* from = reinterpret_cast<GstDvTensorMeta*>(meta);
  if (!GST_META_TRANSFORM_IS_COPY(type)) return FALSE;
  if (static_cast<GstMetaTransformCopy*>(data)->region) return FALSE;
  GstDvTensorMeta* copy = gst_buffer_add_dv_tensor_meta(to, from->role, from->num_tensors);
  for (gsize i = 0; i < from->num_tensors; ++i) {
    copy->tensors[i] = from->tensors[i];
    if (copy->tensors[i].data) gst_buffer_ref(copy->tensors[i].data);
  }
  copy->transform = from->transform;
  copy->input_width = from->input_width;
  copy->input_height = from->input_height;
  if (from->network) copy->network = gst_dv_network_info_ref(from->network);
  return TRUE;
}

const GstMetaInfo* gst_dv_tensor_meta_get_info(void) {
  static const GstMetaInfo* info = nullptr;
  if (g_once_init_enter(&info)) {
    const GstMetaInfo* made = gst_meta_register(
        GST_DV_TENSOR_META_API_TYPE, "GstDvTensorMeta", sizeof(GstDvTensorMeta),
        gst_dv_tensor_meta_init, gst_dv_tensor_meta_free, gst_dv_tensor_meta_transform);
    g_once_init_leave(&info, made);
  }
  return info;
}

/**
 * gst_buffer_add_dv_tensor_meta:
 * @buffer: a writable buffer
 * @role: what the tensors are
 * @num_tensors: how many
 *
 * Returns: (transfer none): a new meta with @num_tensors empty tensors
 */
GstDvTensorMeta* gst_buffer_add_dv_tensor_meta(GstBuffer* buffer, GstDvTensorRole role,
                                               gsize num_tensors) {
  auto* meta = reinterpret_cast<GstDvTensorMeta*>(
      gst_buffer_add_meta(buffer, gst_dv_tensor_meta_get_info(), nullptr));
  meta->role = role;
  meta->num_tensors = num_tensors;
  meta->tensors = g_new0(GstDvTensor, num_tensors);
  return meta;
}

/**
 * gst_buffer_get_dv_tensor_meta:
 * @buffer: a buffer
 * @role: the tensors that are wanted
 *
 * Returns: (transfer none) (nullable): the newest meta of that role
 */
GstDvTensorMeta* gst_buffer_get_dv_tensor_meta(GstBuffer* buffer, GstDvTensorRole role) {
  gpointer state = nullptr;
  GstDvTensorMeta* found = nullptr;
  while (GstMeta* meta =
             gst_buffer_iterate_meta_filtered(buffer, &state, GST_DV_TENSOR_META_API_TYPE)) {
    auto* tensor = reinterpret_cast<GstDvTensorMeta*>(meta);
    if (tensor->role == role) found = tensor;
  }
  return found;
}
