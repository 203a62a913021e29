// SPDX-License-Identifier: Apache-2.0
#include "meta/exchange/tensorexport.h"

#include <gst/analytics/analytics.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/format.h"
#include "meta/tensordesc.h"
#include "refs.h"

namespace dvnn::gst {
namespace {

// Decoders apply thresholds of their own; lower confidences are noise.
constexpr float kLeastConfidence = 0.01f;
constexpr size_t kMaxDetections = 200;

struct FreeTensor {
  void operator()(GstTensor* tensor) const { gst_tensor_free(tensor); }
};
using TensorPtr = std::unique_ptr<GstTensor, FreeTensor>;

GstTensorDataType upstream_type(GstDvTensorDataType type) {
  switch (type) {
    case GST_DV_TENSOR_DATA_TYPE_FLOAT16:
      return GST_TENSOR_DATA_TYPE_FLOAT16;
    case GST_DV_TENSOR_DATA_TYPE_UINT8:
      return GST_TENSOR_DATA_TYPE_UINT8;
    case GST_DV_TENSOR_DATA_TYPE_INT8:
      return GST_TENSOR_DATA_TYPE_INT8;
    default:
      return GST_TENSOR_DATA_TYPE_FLOAT32;
  }
}

TensorPtr make_tensor(GQuark id, GstTensorDataType type, const gsize* dims, gsize num_dims,
                      GstBuffer* data) {
  TensorPtr tensor(gst_tensor_alloc(num_dims));
  tensor->id = id;
  tensor->layout = GST_TENSOR_LAYOUT_CONTIGUOUS;
  tensor->dims_order = GST_TENSOR_DIM_ORDER_ROW_MAJOR;
  tensor->data_type = type;
  tensor->data = data;
  std::copy_n(dims, num_dims, tensor->dims);
  return tensor;
}

// Row-major in the order of the network's dims: the one layout that GstTensor can express with the
// dims as they are.
bool is_row_major(const GstDvTensor& tensor) {
  return tensor.layout == GST_DV_TENSOR_LAYOUT_NCHW;
}

// Copies the tensor as row-major float32.
Result<BufferPtr> relay(const GstDvTensor& tensor) {
  DVNN_ASSIGN(const TensorDesc desc, tensor_desc(tensor));
  const auto elements = static_cast<gsize>(desc.shape.elements());
  BufferPtr made = allocate_buffer(elements * sizeof(float));
  if (!made) {
    return Error{ErrorCode::kNoMemory,
                 format("no memory for an output of %zu elements", static_cast<size_t>(elements))};
  }
  const BufferMap from(tensor.data, GST_MAP_READ), to(made.get(), GST_MAP_WRITE);
  if (!from.ok() || !to.ok()) {
    return Error{ErrorCode::kDevice, "an output's memory cannot be mapped"};
  }
  read_nchw({desc, from.data()}, reinterpret_cast<float*>(to.data()));
  return made;
}

Result<TensorPtr> export_tensor(const GstDvTensor& tensor, TensorExport which) {
  const bool as_it_is =
      is_row_major(tensor) &&
      (which == TensorExport::kAuto || tensor.data_type == GST_DV_TENSOR_DATA_TYPE_FLOAT32);
  if (as_it_is) {
    return make_tensor(tensor.id, upstream_type(tensor.data_type), tensor.dims, tensor.num_dims,
                       gst_buffer_ref(tensor.data));
  }
  DVNN_ASSIGN(BufferPtr data, relay(tensor));
  return make_tensor(tensor.id, GST_TENSOR_DATA_TYPE_FLOAT32, tensor.dims, tensor.num_dims,
                     data.release());
}

// Attaches one more meta; gst_buffer_add_tensor_meta() would return another network's.
void attach(std::vector<TensorPtr> tensors, GstBuffer* frame) {
  auto* meta =
      reinterpret_cast<GstTensorMeta*>(gst_buffer_add_meta(frame, GST_TENSOR_META_INFO, nullptr));
  auto** list = g_new(GstTensor*, tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) list[i] = tensors[i].release();
  gst_tensor_meta_set(meta, static_cast<guint>(tensors.size()), list);
}

// Attaches all outputs of a network, or none.
Status add_outputs(const GstDvTensorMeta& outputs, TensorExport which, GstBuffer* frame) {
  const bool free_of_cost =
      std::all_of(outputs.tensors, outputs.tensors + outputs.num_tensors, is_row_major);
  if (outputs.num_tensors == 0 || (which == TensorExport::kAuto && !free_of_cost)) return {};
  std::vector<TensorPtr> tensors;
  for (gsize i = 0; i < outputs.num_tensors; ++i) {
    DVNN_ASSIGN(TensorPtr tensor, export_tensor(outputs.tensors[i], which));
    tensors.push_back(std::move(tensor));
  }
  attach(std::move(tensors), frame);
  return {};
}

// Makes one of kDetectionTensors with `rows` rows; those without `values` are zero.
Result<TensorPtr> make_detections(DetectionTensorIndex which, gsize rows,
                                  const std::vector<float>& values) {
  const DetectionTensor& tensor = kDetectionTensors[which];
  std::array<gsize, 3> dims{};
  gsize bytes = sizeof(float);
  for (size_t i = 0; i < tensor.rank; ++i) {
    dims[i] = tensor.dims[i] > 0 ? static_cast<gsize>(tensor.dims[i]) : rows;
    bytes *= dims[i];
  }
  BufferPtr data = allocate_buffer(bytes);
  if (!data) return Error{ErrorCode::kNoMemory, "no memory for detections"};
  const BufferMap map(data.get(), GST_MAP_WRITE);
  if (!map.ok()) return Error{ErrorCode::kDevice, "memory for detections cannot be mapped"};
  std::memset(map.data(), 0, map.size());
  std::memcpy(map.data(), values.data(), values.size() * sizeof(float));
  return make_tensor(g_quark_from_static_string(tensor.id), GST_TENSOR_DATA_TYPE_FLOAT32,
                     dims.data(), tensor.rank, data.release());
}

}  // namespace

Status TensorExporter::add_detections(const std::vector<GstDvTensorMeta*>& outputs,
                                      const image::Size& frame_size, GstBuffer* frame) {
  found_.clear();
  for (const GstDvTensorMeta* region : outputs) {
    Topic topic = Topic::kData;
    DVNN_TRY(decoder_.decode(*region, kLeastConfidence, frame_size, &found_, &topic));
  }
  if (decoder_.kind() != objects::Kind::kDetection) return {};
  // Each region's objects are sorted, best first; the whole list must be, too.
  found_.sort_from(0);
  std::vector<float> boxes, scores, classes;
  for (const objects::Object& object : found_) {
    if (scores.size() == kMaxDetections) break;
    const auto& box = object.box;
    for (const double edge : {box.y0 / frame_size.height, box.x0 / frame_size.width,
                              box.y1 / frame_size.height, box.x1 / frame_size.width}) {
      boxes.push_back(static_cast<float>(edge));
    }
    scores.push_back(object.confidence);
    classes.push_back(static_cast<float>(object.class_id));
  }
  // The tensor has one row even if nothing was found.
  const gsize rows = std::max<gsize>(scores.size(), 1);
  std::vector<TensorPtr> tensors;
  const std::vector<float> count = {static_cast<float>(scores.size())};
  const std::pair<DetectionTensorIndex, const std::vector<float>&> all[] = {
      {kDetectionBoxes, boxes},
      {kDetectionClasses, classes},
      {kDetectionScores, scores},
      {kDetectionCount, count}};
  for (const auto& [which, values] : all) {
    DVNN_ASSIGN(TensorPtr tensor, make_detections(which, rows, values));
    tensors.push_back(std::move(tensor));
  }
  attach(std::move(tensors), frame);
  return {};
}

Status TensorExporter::run(TensorExport which, const GstDvNetworkInfo* network,
                           const image::Size& frame_size, GstBuffer* frame) {
  if (which == TensorExport::kNone) return {};
  const auto outputs = outputs_of(network, frame);
  for (const GstDvTensorMeta* region : outputs) DVNN_TRY(add_outputs(*region, which, frame));
  const bool decodes = *gst_dv_network_info_get_decoder(network) != '\0';
  if (which == TensorExport::kAuto || !decodes || outputs.empty()) return {};
  return add_detections(outputs, frame_size, frame);
}

void remove_tensor_exports(const GstDvTensorMeta& outputs, GstBuffer* frame) {
  gst_buffer_foreach_meta(
      frame,
      [](GstBuffer*, GstMeta** found, gpointer user_data) -> gboolean {
        if ((*found)->info->api != GST_TENSOR_META_API_TYPE) return TRUE;
        const auto* meta = reinterpret_cast<const GstTensorMeta*>(*found);
        const auto* of = static_cast<const GstDvTensorMeta*>(user_data);
        for (gsize i = 0; meta->tensors && i < meta->num_tensors; ++i) {
          for (gsize k = 0; of->tensors && k < of->num_tensors; ++k) {
            if (!meta->tensors[i] || meta->tensors[i]->data != of->tensors[k].data) continue;
            *found = nullptr;
            return TRUE;
          }
        }
        return TRUE;
      },
      const_cast<GstDvTensorMeta*>(&outputs));
}

#if GST_CHECK_VERSION(1, 28, 0)
namespace {

constexpr const char* kField = "tensors";

CapsPtr strided(const char* id, const std::vector<int>& dims) {
  CapsPtr caps(gst_caps_new_simple("tensor/strided", "tensor-id", G_TYPE_STRING, id, "dims-order",
                                   G_TYPE_STRING, "row-major", "type", G_TYPE_STRING, "float32",
                                   nullptr));
  GValue list = G_VALUE_INIT, number = G_VALUE_INIT;
  gst_value_array_init(&list, static_cast<guint>(dims.size()));
  g_value_init(&number, G_TYPE_INT);
  for (const int dim : dims) {
    g_value_set_int(&number, dim);
    gst_value_array_append_value(&list, &number);
  }
  gst_structure_take_value(gst_caps_get_structure(caps.get(), 0), "dims", &list);
  return caps;
}

// Returns the attachable tensor that meets a decoder's caps `wanted`, or null.
const GstCaps* find_tensor(const GValue* wanted, const std::vector<CapsPtr>& attachable) {
  if (!GST_VALUE_HOLDS_CAPS(wanted)) return nullptr;
  for (const CapsPtr& caps : attachable) {
    if (gst_caps_can_intersect(caps.get(), gst_value_get_caps(wanted))) return caps.get();
  }
  return nullptr;
}

// Fills a group with our tensors; false if one is missing. `filled` is an initialised unique list.
bool fill_group(const GValue* group, const std::vector<CapsPtr>& attachable, GValue* filled) {
  if (!GST_VALUE_HOLDS_UNIQUE_LIST(group)) return false;
  const guint count = gst_value_unique_list_get_size(group);
  for (guint i = 0; i < count; ++i) {
    const GstCaps* ours = find_tensor(gst_value_unique_list_get_value(group, i), attachable);
    if (!ours) return false;
    GValue value = G_VALUE_INIT;
    g_value_init(&value, GST_TYPE_CAPS);
    gst_value_set_caps(&value, ours);
    gst_value_unique_list_append_and_take_value(filled, &value);
  }
  return count > 0;
}

// Returns the groups of `wanted` that we can fill; null if there are none.
StructurePtr fill_groups(const GstStructure* wanted, const std::vector<CapsPtr>& attachable) {
  StructurePtr groups(gst_structure_new_empty("tensorgroups"));
  for (gint i = 0; i < gst_structure_n_fields(wanted); ++i) {
    const gchar* name = gst_structure_nth_field_name(wanted, static_cast<guint>(i));
    Value filled(GST_TYPE_UNIQUE_LIST);
    if (fill_group(gst_structure_get_value(wanted, name), attachable, filled.get())) {
      gst_structure_take_value(groups.get(), name, filled.get());
    }
  }
  return gst_structure_n_fields(groups.get()) > 0 ? std::move(groups) : nullptr;
}

const GstStructure* groups_of(const GstStructure* caps) {
  const GValue* value = gst_structure_get_value(caps, kField);
  return value && GST_VALUE_HOLDS_STRUCTURE(value) ? gst_value_get_structure(value) : nullptr;
}

}  // namespace

std::vector<CapsPtr> attachable_tensors(const network::Model& model) {
  std::vector<CapsPtr> tensors;
  for (const auto& output : model.outputs) {
    const Shape& shape = model.tensor(output.tensor).desc.shape;
    std::vector<int> dims;
    for (int i = 0; i < shape.rank; ++i) dims.push_back(static_cast<int>(shape[i]));
    tensors.push_back(strided(output.name.c_str(), dims));
  }
  if (model.decoder.name.empty()) return tensors;
  for (const DetectionTensor& tensor : kDetectionTensors) {
    std::vector<int> dims;
    for (size_t i = 0; i < tensor.rank; ++i) dims.push_back(tensor.dims[i]);
    tensors.push_back(strided(tensor.id, dims));
  }
  return tensors;
}

CapsPtr announce_tensor_groups(CapsPtr caps, const GstCaps* beyond,
                               const std::vector<CapsPtr>& attachable) {
  for (guint i = 0; i < gst_caps_get_size(beyond); ++i) {
    const GstStructure* wanted = groups_of(gst_caps_get_structure(beyond, i));
    StructurePtr groups = wanted ? fill_groups(wanted, attachable) : nullptr;
    if (!groups) continue;
    CapsPtr announced(gst_caps_copy(caps.get()));
    gst_caps_set_simple(announced.get(), kField, GST_TYPE_STRUCTURE, groups.get(), nullptr);
    return announced;
  }
  return caps;
}

CapsPtr without_tensor_groups(CapsPtr beyond, const std::vector<CapsPtr>& attachable) {
  CapsPtr rest(gst_caps_copy(beyond.get()));
  for (guint i = 0; i < gst_caps_get_size(rest.get()); ++i) {
    GstStructure* caps = gst_caps_get_structure(rest.get(), i);
    const GstStructure* wanted = groups_of(caps);
    const StructurePtr filled = wanted ? fill_groups(wanted, attachable) : nullptr;
    if (!filled) continue;
    const StructurePtr left(gst_structure_copy(wanted));
    for (gint k = 0; k < gst_structure_n_fields(filled.get()); ++k) {
      gst_structure_remove_field(left.get(),
                                 gst_structure_nth_field_name(filled.get(), static_cast<guint>(k)));
    }
    if (gst_structure_n_fields(left.get()) > 0) {
      gst_structure_set(caps, kField, GST_TYPE_STRUCTURE, left.get(), nullptr);
    } else {
      gst_structure_remove_field(caps, kField);
    }
  }
  return rest;
}

bool has_tensor_groups(const GstCaps* caps) {
  for (guint i = 0; i < gst_caps_get_size(caps); ++i) {
    if (groups_of(gst_caps_get_structure(caps, i))) return true;
  }
  return false;
}

#else

std::vector<CapsPtr> attachable_tensors(const network::Model&) {
  return {};
}

CapsPtr announce_tensor_groups(CapsPtr caps, const GstCaps*, const std::vector<CapsPtr>&) {
  return caps;
}

CapsPtr without_tensor_groups(CapsPtr beyond, const std::vector<CapsPtr>&) {
  return beyond;
}

bool has_tensor_groups(const GstCaps*) {
  return false;
}

#endif
}  // namespace dvnn::gst
