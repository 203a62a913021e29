// SPDX-License-Identifier: Apache-2.0
#include "frames/tensorcaps.h"

#include "base/format.h"

namespace dvnn::gst {
namespace {

constexpr size_t kLeastDimensions = 4;
constexpr int64_t kMaxElements = int64_t{1} << 28;

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ",") + part;
  return text;
}

}  // namespace

bool is_tensors_caps(const GstCaps* caps) {
  return caps && gst_caps_get_size(caps) > 0 &&
         gst_structure_has_name(gst_caps_get_structure(caps, 0), "other/tensors");
}

std::vector<int> caps_dimensions(const TensorDesc& desc) {
  const Shape& s = desc.shape;
  std::vector<int> dims;
  const bool chunks = desc.layout == Layout::kWhc8 || desc.layout == Layout::kHwc8;
  if (chunks && s.c() > 8) {
    dims = {static_cast<int>(s.elements())};
  } else if (desc.layout == Layout::kNhwc || desc.layout == Layout::kHwc8) {
    dims = {s.c(), s.w(), s.h(), s.n()};
  } else if (desc.layout == Layout::kNwhc || desc.layout == Layout::kWhc8) {
    dims = {s.c(), s.h(), s.w(), s.n()};
  } else {
    for (int i = s.rank - 1; i >= 0; --i) dims.push_back(s[i]);
  }
  if (dims.size() < kLeastDimensions) dims.resize(kLeastDimensions, 1);
  return dims;
}

std::string format_dimensions(const std::vector<int>& dimensions) {
  std::string text;
  for (int d : dimensions) text += (text.empty() ? "" : ":") + std::to_string(d);
  return text;
}

GstCaps* tensors_caps(const std::vector<TensorDesc>& tensors) {
  std::vector<std::string> dimensions, types;
  for (const TensorDesc& desc : tensors) {
    dimensions.push_back(format_dimensions(caps_dimensions(desc)));
    types.push_back(to_string(desc.type));
  }
  return gst_caps_new_simple("other/tensors", "format", G_TYPE_STRING, "static", "num_tensors",
                             G_TYPE_INT, static_cast<gint>(tensors.size()), "dimensions",
                             G_TYPE_STRING, joined(dimensions).c_str(), "types", G_TYPE_STRING,
                             joined(types).c_str(), nullptr);
}

int64_t CapsTensor::bytes() const {
  int64_t elements = 1;
  for (int d : dimensions) elements *= d;
  return elements * static_cast<int64_t>(element_size(type));
}

Result<CapsTensor> parse_tensor_caps(const GstCaps* caps) {
  const GstStructure* s = gst_caps_get_structure(caps, 0);
  const gchar* dimensions = gst_structure_get_string(s, "dimensions");
  const gchar* types = gst_structure_get_string(s, "types");
  gint count = 1;
  gst_structure_get_int(s, "num_tensors", &count);
  if (count != 1 || !dimensions || !types) {
    return Error{ErrorCode::kMalformed,
                 "a stream of tensors needs num_tensors=1, dimensions (like 3:300:300:1) and types "
                 "(like float16)"};
  }
  CapsTensor tensor;
  auto type = parse_element_type(types);
  if (!type.ok()) return type.error();
  tensor.type = type.value();
  int64_t elements = 1;
  gchar** parts = g_strsplit(dimensions, ":", -1);
  bool good = *parts != nullptr;
  for (gchar** part = parts; *part && good; ++part) {
    guint64 extent = 0;
    good = g_ascii_string_to_unsigned(*part, 10, 1, static_cast<guint64>(kMaxElements / elements),
                                      &extent, nullptr);
    if (good) tensor.dimensions.push_back(static_cast<int>(extent));
    elements *= good ? static_cast<int64_t>(extent) : 1;
  }
  g_strfreev(parts);
  if (!good) {
    return Error{ErrorCode::kMalformed,
                 format("dimensions=%s: must be positive numbers like 3:300:300:1, of at most "
                        "%lld elements",
                        dimensions, static_cast<long long>(kMaxElements))};
  }
  if (tensor.dimensions.size() < kLeastDimensions) tensor.dimensions.resize(kLeastDimensions, 1);
  return tensor;
}

}  // namespace dvnn::gst
