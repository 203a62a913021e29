// SPDX-License-Identifier: Apache-2.0
#include "meta/tensordesc.h"

#include <algorithm>

#include "base/json.h"
#include "base/numbers.h"
#include "meta/metas.h"

namespace dvnn::gst {

static_assert(static_cast<int>(GST_DV_TENSOR_LAYOUT_HWC8) == static_cast<int>(Layout::kHwc8) &&
                  static_cast<int>(GST_DV_TENSOR_DATA_TYPE_INT8) ==
                      static_cast<int>(ElementType::kInt8),
              "the public enumerations mirror ours");

NetworkInfoPtr describe_network(const network::Model& model) {
  std::vector<const gchar*> labels;
  for (const std::string& label : model.labels) labels.push_back(label.c_str());
  labels.push_back(nullptr);
  return NetworkInfoPtr(gst_dv_network_info_new(model.name.c_str(), model.decoder.name.c_str(),
                                                json_text(model.decoder.params).c_str(),
                                                labels.data()));
}

std::vector<GstDvTensorMeta*> outputs_of(const GstDvNetworkInfo* network, GstBuffer* frame) {
  std::vector<GstDvTensorMeta*> list;
  find_outputs(network, frame, &list);
  return list;
}

void find_outputs(const GstDvNetworkInfo* network, GstBuffer* frame,
                  std::vector<GstDvTensorMeta*>* list) {
  list->clear();
  for (GstDvTensorMeta* outputs : tensor_metas(frame)) {
    if (outputs->network == network) list->push_back(outputs);
  }
  const auto before = [](const GstDvTensorMeta* a, const GstDvTensorMeta* b) {
    return a->region < b->region;
  };
  if (!std::is_sorted(list->begin(), list->end(), before)) {
    std::stable_sort(list->begin(), list->end(), before);
  }
}

void describe_tensor(const TensorDesc& desc, const char* name, GstDvTensor* tensor) {
  tensor->id = g_quark_from_string(name);
  tensor->layout = static_cast<GstDvTensorLayout>(desc.layout);
  tensor->data_type = static_cast<GstDvTensorDataType>(desc.type);
  tensor->num_dims = static_cast<gsize>(desc.shape.rank);
  for (int i = 0; i < desc.shape.rank; ++i) tensor->dims[i] = static_cast<gsize>(desc.shape[i]);
}

Result<TensorDesc> tensor_desc(const GstDvTensor& tensor) {
  constexpr gsize kMaxElements = gsize{1} << 28;
  TensorDesc desc;
  gsize elements = 1;
  const guint layout = enum_number(tensor.layout), type = enum_number(tensor.data_type);
  bool good = tensor.num_dims >= 1 && tensor.num_dims <= GST_DV_TENSOR_MAX_DIMS &&
              layout <= static_cast<guint>(Layout::kHwc8) &&
              type <= static_cast<guint>(ElementType::kInt8) &&
              (layout == GST_DV_TENSOR_LAYOUT_NCHW || tensor.num_dims == 4);
  for (gsize i = 0; good && i < tensor.num_dims; ++i) {
    good = tensor.dims[i] >= 1 && tensor.dims[i] <= kMaxElements / elements;
    elements *= good ? tensor.dims[i] : 1;
    desc.shape.dims[i] = static_cast<int>(tensor.dims[i]);
  }
  if (!good) return malformed("a tensor meta has impossible dimensions");
  desc.shape.rank = static_cast<int>(tensor.num_dims);
  desc.layout = static_cast<Layout>(layout);
  desc.type = static_cast<ElementType>(type);
  if (!tensor.data || gst_buffer_get_size(tensor.data) < elements * element_size(desc.type)) {
    return malformed("a tensor meta's data are shorter than its dimensions say");
  }
  return desc;
}

Result<std::vector<uint8_t>> read_bytes(const GstDvTensor& tensor, const TensorDesc& desc) {
  std::vector<uint8_t> bytes(desc.bytes());
  if (gst_buffer_extract(tensor.data, 0, bytes.data(), bytes.size()) != bytes.size()) {
    return malformed("the memory of the frame's tensor cannot be read");
  }
  return bytes;
}

image::Transform from_public(const GstDvTransform& t) {
  return {t.scale_x, t.offset_x, t.scale_y, t.offset_y, t.swap_xy != FALSE, t.shear_x, t.shear_y};
}

GstDvTransform to_public(const image::Transform& t) {
  return {t.scale_x, t.offset_x, t.scale_y, t.offset_y, t.swap_xy, t.shear_x, t.shear_y};
}

}  // namespace dvnn::gst
