// SPDX-License-Identifier: Apache-2.0
// One tensor of a GstDvTensorMeta, for languages that cannot read C arrays.
#include <algorithm>

#include "gst/dvnn/gstdvtensormeta.h"

G_DEFINE_BOXED_TYPE(GstDvTensor, gst_dv_tensor, gst_dv_tensor_copy, gst_dv_tensor_free)

/**
 * gst_dv_tensor_new:
 * @name: name of the tensor
 * @data_type: type of the elements
 * @layout: order of the elements in memory
 * @dims: (array length=num_dims): dimensions, outermost first
 * @num_dims: number of dimensions, at most %GST_DV_TENSOR_MAX_DIMS
 * @data: (transfer none): the memory
 *
 * Returns: (transfer full) (nullable): a tensor that keeps a reference to @data
 *
 * Since: 0.1.0
 */
GstDvTensor* gst_dv_tensor_new(const gchar* name, GstDvTensorDataType data_type,
                               GstDvTensorLayout layout, const gsize* dims, gsize num_dims,
                               GstBuffer* data) {
  g_return_val_if_fail(num_dims <= GST_DV_TENSOR_MAX_DIMS, nullptr);
  g_return_val_if_fail(GST_IS_BUFFER(data), nullptr);
  GstDvTensor* tensor = g_new0(GstDvTensor, 1);
  tensor->id = g_quark_from_string(name);
  tensor->data_type = data_type;
  tensor->layout = layout;
  tensor->num_dims = num_dims;
  std::copy_n(dims, num_dims, tensor->dims);
  tensor->data = gst_buffer_ref(data);
  return tensor;
}

/**
 * gst_dv_tensor_copy:
 * @tensor: a tensor
 *
 * A tensor of a meta lives as long as the frame; a copy keeps the memory, which is not copied,
 * until it is freed.
 *
 * Returns: (transfer full): a copy
 *
 * Since: 0.1.0
 */
GstDvTensor* gst_dv_tensor_copy(const GstDvTensor* tensor) {
  GstDvTensor* copy = g_new(GstDvTensor, 1);
  *copy = *tensor;
  if (copy->data) gst_buffer_ref(copy->data);
  return copy;
}

/**
 * gst_dv_tensor_free:
 * @tensor: (transfer full): a copy of a tensor
 *
 * Since: 0.1.0
 */
void gst_dv_tensor_free(GstDvTensor* tensor) {
  gst_clear_buffer(&tensor->data);
  g_free(tensor);
}

/**
 * gst_dv_tensor_get_name:
 * @tensor: a tensor
 *
 * Returns: (transfer none) (nullable): its name, that of the network's output
 *
 * Since: 0.1.0
 */
const gchar* gst_dv_tensor_get_name(const GstDvTensor* tensor) {
  g_return_val_if_fail(tensor != nullptr, nullptr);
  return g_quark_to_string(tensor->id);
}

/**
 * gst_dv_tensor_get_dims:
 * @tensor: a tensor
 * @num_dims: (out): number of dimensions
 *
 * Returns: (transfer none) (array length=num_dims): the dimensions, outermost first; an image's are
 * n, c, h, w whatever the layout
 *
 * Since: 0.1.0
 */
const gsize* gst_dv_tensor_get_dims(const GstDvTensor* tensor, gsize* num_dims) {
  g_return_val_if_fail(tensor != nullptr && num_dims != nullptr, nullptr);
  *num_dims = tensor->num_dims;
  return tensor->dims;
}

namespace {

// A buffer that stays mapped while its bytes are in use.
struct Mapped {
  GstBuffer* buffer;
  GstMapInfo map;
};

void release(gpointer data) {
  auto* mapped = static_cast<Mapped*>(data);
  gst_buffer_unmap(mapped->buffer, &mapped->map);
  gst_buffer_unref(mapped->buffer);
  g_free(mapped);
}

}  // namespace

/**
 * gst_dv_tensor_get_bytes:
 * @tensor: a tensor
 *
 * Maps the tensor's memory, in the order of @layout and @data_type; nothing is copied. The memory
 * stays mapped as long as the bytes live, and a device gets it back only then.
 *
 * Returns: (transfer full) (nullable): the bytes, or %NULL if the memory cannot be mapped
 *
 * Since: 0.1.0
 */
GBytes* gst_dv_tensor_get_bytes(const GstDvTensor* tensor) {
  g_return_val_if_fail(tensor != nullptr && GST_IS_BUFFER(tensor->data), nullptr);
  auto* mapped = g_new0(Mapped, 1);
  if (!gst_buffer_map(tensor->data, &mapped->map, GST_MAP_READ)) {
    g_free(mapped);
    return nullptr;
  }
  mapped->buffer = gst_buffer_ref(tensor->data);
  return g_bytes_new_with_free_func(mapped->map.data, mapped->map.size, release, mapped);
}

/**
 * gst_dv_tensor_meta_get_tensor:
 * @meta: a meta
 * @index: from 0 to @num_tensors - 1
 *
 * Returns: (transfer none) (nullable): that tensor, or %NULL if there are fewer
 *
 * Since: 0.1.0
 */
GstDvTensor* gst_dv_tensor_meta_get_tensor(const GstDvTensorMeta* meta, guint index) {
  g_return_val_if_fail(meta != nullptr, nullptr);
  return index < meta->num_tensors ? &meta->tensors[index] : nullptr;
}

/**
 * gst_dv_tensor_meta_find_tensor:
 * @meta: a meta
 * @name: name of a tensor
 *
 * Returns: (transfer none) (nullable): the tensor of that name, or %NULL
 *
 * Since: 0.1.0
 */
GstDvTensor* gst_dv_tensor_meta_find_tensor(const GstDvTensorMeta* meta, const gchar* name) {
  g_return_val_if_fail(meta != nullptr && name != nullptr, nullptr);
  const GQuark id = g_quark_try_string(name);
  for (gsize i = 0; id != 0 && i < meta->num_tensors; ++i) {
    if (meta->tensors[i].id == id) return &meta->tensors[i];
  }
  return nullptr;
}
