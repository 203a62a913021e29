// SPDX-License-Identifier: Apache-2.0
#include "frames/tensoroutput.h"

#include "base/format.h"
#include "tensor/tensor.h"

namespace dvnn::gst {
namespace {

// Returns an output as it leaves: arrays as they are, images with channels side by side, row by
// row.
TensorDesc in_stream(TensorDesc desc) {
  if (desc.shape.rank == 4 && desc.layout != Layout::kNchw) desc.layout = Layout::kNhwc;
  return desc;
}

std::vector<TensorOutput> output_forms(const network::Model& model) {
  TensorOutput own;
  for (const auto& output : model.outputs) {
    own.tensors.push_back(in_stream(model.tensor(output.tensor).desc));
  }
  std::vector<TensorOutput> forms = {own};
  for (ElementType type : {ElementType::kFloat32, ElementType::kFloat16}) {
    TensorOutput form = own;
    for (TensorDesc& desc : form.tensors) desc.type = type;
    if (form.tensors != own.tensors) forms.push_back(std::move(form));
  }
  // A buffer has no room for more flexible tensors.
  if (own.tensors.size() <= kMaxStreamMemories) {
    own.flexible = true;
    forms.push_back(std::move(own));
  }
  return forms;
}

GstCaps* form_caps(const TensorOutput& form, const GstCaps* filter) {
  if (form.flexible) return gst_caps_from_string(DVNN_FLEXIBLE_TENSORS_CAPS);
  CapsPtr caps(gst_caps_new_empty());
  append_tensors_caps(caps.get(), form.stream(), filter, nullptr);
  return caps.release();
}

}  // namespace

std::vector<StreamTensor> TensorOutput::stream() const {
  std::vector<StreamTensor> stream;
  for (const TensorDesc& desc : tensors) stream.push_back(stream_tensor(desc));
  return stream;
}

bool TensorOutput::is_as_it_is(size_t i, const TensorDesc& own) const {
  return !flexible && tensors[i].type == own.type && plain_layout(tensors[i]) == plain_layout(own);
}

Result<MemoryPtr> TensorOutput::write(size_t i, const ConstTensorView& from) const {
  const size_t header = flexible ? kStreamHeaderBytes : 0;
  const size_t size = header + tensors[i].bytes();
  MemoryPtr memory = allocate_memory(size);
  GstMapInfo map;
  if (!memory || !gst_memory_map(memory.get(), &map, GST_MAP_WRITE)) {
    return Error{ErrorCode::kNoMemory, format("no memory for an output of %zu bytes", size)};
  }
  if (flexible) write_stream_header(stream_tensor(tensors[i]), map.data);
  std::vector<float> scratch;
  convert_tensor(from, {tensors[i], map.data + header}, &scratch);
  gst_memory_unmap(memory.get(), &map);
  GST_MINI_OBJECT_FLAG_SET(memory.get(), GST_MEMORY_FLAG_READONLY);
  return memory;
}

GstCaps* tensor_output_caps(const network::Model& model, const GstCaps* filter) {
  CapsPtr caps(gst_caps_new_empty());
  for (const TensorOutput& form : output_forms(model)) {
    gst_caps_append(caps.get(), form_caps(form, filter));
  }
  return caps.release();
}

// Caps that ask for types or dimensions, or that say nothing, ask for no flexible stream.
static bool asks_for_flexible(const GstCaps* downstream) {
  for (guint i = 0; i < gst_caps_get_size(downstream); ++i) {
    const GstStructure* s = gst_caps_get_structure(downstream, i);
    if (gst_structure_has_field(s, "format") && !gst_structure_has_field(s, "types") &&
        !gst_structure_has_field(s, "dimensions")) {
      return true;
    }
  }
  return false;
}

std::optional<ChosenOutput> choose_output(const network::Model& model, const GstCaps* downstream,
                                          const GstStructure* rate) {
  const GValue* fraction = rate ? gst_structure_get_value(rate, "framerate") : nullptr;
  const bool fixed = fraction && GST_VALUE_HOLDS_FRACTION(fraction);
  for (TensorOutput& form : output_forms(model)) {
    if (form.flexible && !asks_for_flexible(downstream)) continue;
    CapsPtr caps(form_caps(form, downstream));
    if (rate) {
      gst_caps_set_simple(caps.get(), "framerate", GST_TYPE_FRACTION,
                          fixed ? gst_value_get_fraction_numerator(fraction) : 0,
                          fixed ? gst_value_get_fraction_denominator(fraction) : 1, nullptr);
    }
    caps.reset(gst_caps_intersect_full(caps.get(), const_cast<GstCaps*>(downstream),
                                       GST_CAPS_INTERSECT_FIRST));
    if (gst_caps_is_empty(caps.get())) continue;
    ChosenOutput chosen;
    chosen.form = std::make_shared<const TensorOutput>(std::move(form));
    chosen.caps.reset(gst_caps_fixate(caps.release()));
    return chosen;
  }
  return std::nullopt;
}

}  // namespace dvnn::gst
