// SPDX-License-Identifier: Apache-2.0
#include "meta/exchange/tensorimport.h"

#include <gst/analytics/analytics.h>

#include <optional>

#include "base/format.h"
#include "gst/dvnn/gstdvtensormeta.h"
#include "meta/metas.h"
#include "meta/tensordesc.h"

namespace dvnn::gst {
namespace {

using Tensors = std::vector<const GstTensor*>;

std::string describe(const GstTensor* tensor) {
  if (!tensor) return "nothing";
  const gchar* id = g_quark_to_string(tensor->id);
  std::string text = std::string(id ? id : "(no id)") + " ";
  for (gsize i = 0; i < tensor->num_dims; ++i) {
    text += format("%s%zu", i ? "x" : "", static_cast<size_t>(tensor->dims[i]));
  }
  return text;
}

std::string describe(const GstTensorMeta& meta) {
  std::string text;
  for (gsize i = 0; i < meta.num_tensors; ++i) {
    text += (i ? ", " : "") + describe(meta.tensors ? meta.tensors[i] : nullptr);
  }
  return text;
}

std::optional<GstDvTensorDataType> our_type(GstTensorDataType type) {
  switch (type) {
    case GST_TENSOR_DATA_TYPE_FLOAT16:
      return GST_DV_TENSOR_DATA_TYPE_FLOAT16;
    case GST_TENSOR_DATA_TYPE_FLOAT32:
      return GST_DV_TENSOR_DATA_TYPE_FLOAT32;
    case GST_TENSOR_DATA_TYPE_UINT8:
      return GST_DV_TENSOR_DATA_TYPE_UINT8;
    case GST_TENSOR_DATA_TYPE_INT8:
      return GST_DV_TENSOR_DATA_TYPE_INT8;
    default:
      return std::nullopt;
  }
}

bool has_elements(const GstTensor& tensor, const Shape& shape) {
  gsize elements = 1;
  for (gsize i = 0; i < tensor.num_dims; ++i) elements *= tensor.dims[i];
  return elements == static_cast<gsize>(shape.elements());
}

const GstTensor* find_named(const GstTensorMeta& meta, const std::string& name) {
  for (gsize i = 0; i < meta.num_tensors; ++i) {
    const gchar* id = meta.tensors[i] ? g_quark_to_string(meta.tensors[i]->id) : nullptr;
    if (id && name == id) return meta.tensors[i];
  }
  return nullptr;
}

// Returns the network's outputs among a meta's tensors, in the network's order; empty if they are
// not all there. Tensors match by id, the output's name. If no id is a name, the same number of
// tensors with the same numbers of elements match by order.
Tensors match(const GstTensorMeta& meta, const std::vector<TensorImport::Output>& outputs) {
  Tensors named, placed;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (const GstTensor* tensor = find_named(meta, outputs[i].name)) named.push_back(tensor);
    const GstTensor* there = i < meta.num_tensors ? meta.tensors[i] : nullptr;
    if (there && has_elements(*there, outputs[i].shape)) placed.push_back(there);
  }
  if (named.size() == outputs.size()) return named;
  const bool same = named.empty() && meta.num_tensors == outputs.size();
  return same && placed.size() == outputs.size() ? placed : Tensors();
}

// Sizes are checked when the outputs are decoded (tensordesc.h).
Status take(const GstTensor& from, const std::string& name, GstDvTensor* to) {
  const auto type = our_type(from.data_type);
  if (!type) {
    return unsupported(
        describe(&from) +
        ": elements of that type are not understood, only float16, float32, uint8 and int8");
  }
  if (from.dims_order != GST_TENSOR_DIM_ORDER_ROW_MAJOR ||
      from.layout != GST_TENSOR_LAYOUT_CONTIGUOUS) {
    return unsupported(describe(&from) +
                       ": only contiguous tensors in row-major order are understood");
  }
  if (from.num_dims > GST_DV_TENSOR_MAX_DIMS || !from.data) {
    return unsupported(
        describe(&from) +
        format(": it must have data and no more than %d dimensions", GST_DV_TENSOR_MAX_DIMS));
  }
  to->id = g_quark_from_string(name.c_str());
  to->layout = GST_DV_TENSOR_LAYOUT_NCHW;
  to->data_type = *type;
  to->data = gst_buffer_ref(from.data);
  to->num_dims = from.num_dims;
  for (gsize i = 0; i < from.num_dims; ++i) to->dims[i] = from.dims[i];
  return {};
}

}  // namespace

TensorImport::TensorImport(const network::Model& model) : info_(describe_network(model)) {
  for (const network::OutputInfo& output : model.outputs) {
    outputs_.push_back({output.name, model.tensor(output.tensor).desc.shape});
  }
  const Shape& input = model.tensor(model.input.tensor).desc.shape;
  input_width_ = static_cast<guint>(input.w());
  input_height_ = static_cast<guint>(input.h());
}

// Returns whether dvinfer has attached the outputs as GstDvTensorMeta, too, which also says what
// the network was shown.
bool TensorImport::has_ours(GstBuffer* frame) const {
  const std::string name = gst_dv_network_info_get_name(info_.get());
  for (const GstDvTensorMeta* outputs : tensor_metas(frame)) {
    const GstDvNetworkInfo* network = outputs->network;
    if (network && name == gst_dv_network_info_get_name(network)) return true;
  }
  return false;
}

Status TensorImport::run(GstBuffer* frame, const image::Size& frame_size) const {
  if (has_ours(frame)) return {};
  std::string seen;
  for (GstTensorMeta* meta : Metas<GstTensorMeta>(frame, GST_TENSOR_META_API_TYPE)) {
    const Tensors tensors = meta->tensors ? match(*meta, outputs_) : Tensors();
    if (tensors.empty()) {
      seen += (seen.empty() ? "" : "; ") + describe(*meta);
      continue;
    }
    DVNN_TRY(attach(tensors, frame_size, frame));
    gst_buffer_remove_meta(frame, &meta->meta);
    return {};
  }
  const std::string network =
      std::string("network '") + gst_dv_network_info_get_name(info_.get()) + "'";
  if (seen.empty()) return Error{ErrorCode::kNotFound, "no tensors of " + network};
  const std::string wanted = joined(outputs_, ", ", [](const Output& output) {
    return output.name + " " + output.shape.to_string();
  });
  return unsupported("the tensors on a frame are not those of " + network + ": they are " + seen +
                     "; it has " + wanted);
}

Status TensorImport::attach(const std::vector<const GstTensor*>& tensors,
                            const image::Size& frame_size, GstBuffer* frame) const {
  GstDvTensorMeta* meta = gst_buffer_add_dv_tensor_meta(frame, tensors.size());
  meta->network = gst_dv_network_info_ref(info_.get());
  meta->input_width = input_width_;
  meta->input_height = input_height_;
  meta->transform = {
      input_width_ / frame_size.width, 0, input_height_ / frame_size.height, 0, FALSE, 0, 0};
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Status taken = take(*tensors[i], outputs_[i].name, &meta->tensors[i]);
    if (taken.ok()) continue;
    gst_buffer_remove_meta(frame, &meta->meta);
    return taken;
  }
  return {};
}

}  // namespace dvnn::gst
