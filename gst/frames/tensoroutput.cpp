// SPDX-License-Identifier: Apache-2.0
#include "frames/tensoroutput.h"

#include <algorithm>
#include <cstring>

#include "base/format.h"
#include "tensor/half.h"

namespace dvnn::gst {
namespace {

// Where elements lie in a stream: plain arrays as they are, the device's layouts as pictures.
TensorDesc in_stream(TensorDesc desc) {
  if (desc.shape.rank == 4 && desc.layout != Layout::kNchw) desc.layout = Layout::kNhwc;
  return desc;
}

// The same bytes by two names.
bool same_layout(const TensorDesc& a, const TensorDesc& b) {
  if (a.layout == b.layout) return true;
  auto rows = [](const TensorDesc& desc) {
    return desc.layout == Layout::kNhwc || (desc.layout == Layout::kHwc8 && desc.shape.c() <= 8);
  };
  return rows(a) && rows(b);
}

std::vector<TensorOutput> output_forms(const network::Model& model) {
  TensorOutput own;
  for (const auto& output : model.outputs) {
    own.tensors.push_back(in_stream(model.tensors[static_cast<size_t>(output.tensor)].desc));
  }
  std::vector<TensorOutput> forms = {own};
  for (ElementType type : {ElementType::kFloat32, ElementType::kFloat16}) {
    TensorOutput form = own;
    for (TensorDesc& desc : form.tensors) desc.type = type;
    if (form.tensors != own.tensors) forms.push_back(std::move(form));
  }
  // A buffer of flexible tensors has no room for more.
  if (own.tensors.size() <= kMaxStreamMemories) {
    own.flexible = true;
    forms.push_back(std::move(own));
  }
  return forms;
}

GstCaps* form_caps(const TensorOutput& form, const GstCaps* filter) {
  if (form.flexible) return gst_caps_from_string(DVNN_FLEXIBLE_TENSORS_CAPS);
  GstCaps* caps = gst_caps_new_empty();
  append_tensors_caps(caps, form.stream(), filter, nullptr);
  return caps;
}

void convert(const ConstTensorView& from, const TensorView& to) {
  const auto count = static_cast<size_t>(from.desc.shape.elements());
  const bool in_place = same_layout(from.desc, to.desc);
  if (in_place && from.desc.type == to.desc.type) {
    std::memcpy(to.data, from.data, static_cast<size_t>(to.desc.bytes()));
  } else if (in_place && from.desc.type == ElementType::kFloat16 &&
             to.desc.type == ElementType::kFloat32) {
    half_to_float(reinterpret_cast<const half_t*>(from.data), reinterpret_cast<float*>(to.data),
                  count);
  } else if (in_place && from.desc.type == ElementType::kFloat32 &&
             to.desc.type == ElementType::kFloat16) {
    float_to_half(reinterpret_cast<const float*>(from.data), reinterpret_cast<half_t*>(to.data),
                  count);
  } else {
    std::vector<float> numbers(count);
    read_nchw(from, numbers.data());
    write_nchw(numbers.data(), to);
  }
}

}  // namespace

std::vector<StreamTensor> TensorOutput::stream() const {
  std::vector<StreamTensor> stream;
  for (const TensorDesc& desc : tensors) stream.push_back(stream_tensor(desc));
  return stream;
}

bool TensorOutput::is_as_it_is(size_t i, const TensorDesc& own) const {
  return !flexible && tensors[i].type == own.type && same_layout(tensors[i], own);
}

Result<MemoryPtr> TensorOutput::write(size_t i, const ConstTensorView& from) const {
  const size_t header = flexible ? kStreamHeaderBytes : 0;
  const size_t size = header + static_cast<size_t>(tensors[i].bytes());
  MemoryPtr memory = allocate_memory(size);
  GstMapInfo map;
  if (!memory || !gst_memory_map(memory.get(), &map, GST_MAP_WRITE)) {
    return Error{ErrorCode::kNoMemory, format("no memory for an output of %zu bytes", size)};
  }
  if (flexible) write_stream_header(stream_tensor(tensors[i]), map.data);
  convert(from, {tensors[i], map.data + header});
  gst_memory_unmap(memory.get(), &map);
  GST_MINI_OBJECT_FLAG_SET(memory.get(), GST_MEMORY_FLAG_READONLY);
  return memory;
}

GstCaps* tensor_output_caps(const network::Model& model, const GstCaps* filter) {
  GstCaps* caps = gst_caps_new_empty();
  for (const TensorOutput& form : output_forms(model)) {
    gst_caps_append(caps, form_caps(form, filter));
  }
  return caps;
}

std::optional<ChosenOutput> choose_output(const network::Model& model, const GstCaps* downstream,
                                          const GstStructure* rate) {
  const GValue* fraction = rate ? gst_structure_get_value(rate, "framerate") : nullptr;
  const bool fixed = fraction && GST_VALUE_HOLDS_FRACTION(fraction);
  for (TensorOutput& form : output_forms(model)) {
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
