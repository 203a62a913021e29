// SPDX-License-Identifier: Apache-2.0
#include "meta/exchange/tensorgroups.h"

#include <utility>

#include "meta/exchange/tensorexport.h"

namespace dvnn::gst {
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
