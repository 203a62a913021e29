// SPDX-License-Identifier: Apache-2.0
#include "frames/tensorcaps.h"

#include <algorithm>
#include <memory>

#include "base/format.h"
#include "refs.h"

namespace dvnn::gst {
namespace {

// NNStreamer's rank before 2.4, which its elements and most applications still write out.
constexpr size_t kUsualRank = 4;

bool is_tensors(const GstStructure* structure) {
  return gst_structure_has_name(structure, "other/tensors");
}

// NNStreamer has both separators, because a comma needs quotes in a pipeline's description.
std::vector<std::string> split(const gchar* text, const char* separators) {
  const std::unique_ptr<gchar*, decltype(&g_strfreev)> list(g_strsplit_set(text, separators, -1),
                                                            g_strfreev);
  std::vector<std::string> parts;
  for (gchar** part = list.get(); *part; ++part) parts.emplace_back(g_strstrip(*part));
  return parts;
}

Result<StreamTensor> parse_tensor(const std::string& dimensions, const std::string& type) {
  const auto parsed_type = parse_stream_type(type);
  if (!parsed_type) {
    return malformed(format("types=%s: no element type of a stream's tensor", type.c_str()));
  }
  std::vector<uint32_t> numbers;
  for (const std::string& part : split(dimensions.c_str(), ":")) {
    guint64 extent = 0;
    // Text that is not a number leaves no dimensions, which make_stream_tensor() refuses.
    if (numbers.size() > kMaxStreamRank ||
        !g_ascii_string_to_unsigned(part.c_str(), 10, 0, G_MAXUINT32, &extent, nullptr)) {
      numbers.clear();
      break;
    }
    numbers.push_back(static_cast<uint32_t>(extent));
  }
  auto tensor = make_stream_tensor(*parsed_type, numbers);
  if (!tensor.ok()) return tensor.error().within("dimensions=" + dimensions);
  return tensor;
}

std::vector<int> padded(std::vector<int> dimensions, size_t rank) {
  if (dimensions.size() < rank) dimensions.resize(rank, 1);
  return dimensions;
}

// Spells the dimensions of all tensors, each with at least `rank` dimensions.
std::string spell_dimensions(const std::vector<StreamTensor>& tensors, size_t rank) {
  return joined(tensors, ",", [rank](const StreamTensor& tensor) {
    return format_dimensions(padded(tensor.dimensions, rank));
  });
}

std::string spell_types(const std::vector<StreamTensor>& tensors) {
  return joined(tensors, ",", [](const StreamTensor& tensor) { return to_string(tensor.type); });
}

void append_spelling(GstCaps* caps, size_t count, const std::string& dimensions,
                     const std::string& types, const char* layout) {
  CapsPtr one(gst_caps_from_string(DVNN_STATIC_TENSORS_CAPS));
  gst_caps_set_simple(one.get(), "num_tensors", G_TYPE_INT, static_cast<gint>(count), "dimensions",
                      G_TYPE_STRING, dimensions.c_str(), "types", G_TYPE_STRING, types.c_str(),
                      nullptr);
  if (layout) gst_caps_set_simple(one.get(), "layout", G_TYPE_STRING, layout, nullptr);
  gst_caps_append(caps, one.release());
}

// Returns whether `field` of `structure` describes these tensors, perhaps in another spelling.
bool means(const GstStructure* structure, const char* field,
           const std::vector<StreamTensor>& tensors) {
  const gchar* text = gst_structure_get_string(structure, field);
  if (!text) return false;
  const bool types = std::string(field) == "types";
  const std::vector<std::string> parts = split(text, ",.");
  if (parts.size() != tensors.size()) return false;
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto tensor =
        types ? parse_tensor("1", parts[i]) : parse_tensor(parts[i], to_string(tensors[i].type));
    if (!tensor.ok() || tensor.value().type != tensors[i].type) return false;
    if (!types && !(tensor.value() == tensors[i])) return false;
  }
  return true;
}

}  // namespace

bool is_tensors_caps(const GstCaps* caps) {
  return caps && gst_caps_get_size(caps) > 0 && is_tensors(gst_caps_get_structure(caps, 0));
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
  return padded(std::move(dims), kUsualRank);
}

StreamTensor stream_tensor(const TensorDesc& desc) {
  StreamTensor tensor;
  tensor.type = stream_type(desc.type);
  tensor.dimensions = caps_dimensions(desc);
  drop_trailing_ones(&tensor.dimensions);
  return tensor;
}

std::string format_dimensions(const std::vector<int>& dimensions) {
  return joined(dimensions, ":");
}

std::string describe(const StreamTensor& tensor) {
  return std::string(to_string(tensor.type)) + " " +
         format_dimensions(padded(tensor.dimensions, kUsualRank));
}

Result<StreamCaps> parse_stream_caps(const GstStructure* structure) {
  StreamCaps caps;
  if (!is_tensors(structure)) return malformed("the stream is none of tensors");
  const gchar* stream_format = gst_structure_get_string(structure, "format");
  const std::string said = stream_format ? stream_format : "static";
  caps.flexible = said == "flexible";
  if (caps.flexible) return caps;
  if (said != "static") {
    return unsupported(
        format("format=%s: streams of tensors are static or flexible", said.c_str()));
  }
  const gchar* dimensions = gst_structure_get_string(structure, "dimensions");
  const gchar* types = gst_structure_get_string(structure, "types");
  gint count = 1;
  gst_structure_get_int(structure, "num_tensors", &count);
  const std::vector<std::string> all = split(dimensions ? dimensions : "", ",.");
  const std::vector<std::string> all_types = split(types ? types : "", ",.");
  if (!dimensions || !types || count < 1 || static_cast<size_t>(count) > kMaxStreamTensors ||
      all.size() != static_cast<size_t>(count) || all_types.size() != all.size()) {
    return malformed(
        format("a stream of tensors needs num_tensors, of 1 to %zu, and as many dimensions (like "
               "3:300:300:1) and types (like float16)",
               kMaxStreamTensors));
  }
  for (size_t i = 0; i < all.size(); ++i) {
    DVNN_ASSIGN(StreamTensor tensor, parse_tensor(all[i], all_types[i]));
    caps.tensors.push_back(std::move(tensor));
  }
  const gchar* layout = gst_structure_get_string(structure, "layout");
  if (layout) caps.layout = layout;
  return caps;
}

void append_tensors_caps(GstCaps* caps, const std::vector<StreamTensor>& tensors,
                         const GstCaps* filter, const char* layout) {
  const std::string types = spell_types(tensors);
  std::vector<std::string> spelled;
  for (size_t rank : {kUsualRank, size_t{1}, kMaxStreamRank}) {
    spelled.push_back(spell_dimensions(tensors, rank));
    if (std::count(spelled.begin(), spelled.end(), spelled.back()) > 1) continue;
    append_spelling(caps, tensors.size(), spelled.back(), types, layout);
  }
  for (guint i = 0; filter && i < gst_caps_get_size(filter); ++i) {
    const GstStructure* s = gst_caps_get_structure(filter, i);
    if (!is_tensors(s)) continue;
    const bool same_dimensions = means(s, "dimensions", tensors),
               same_types = means(s, "types", tensors);
    if (!same_dimensions && !same_types) continue;
    append_spelling(caps, tensors.size(),
                    same_dimensions ? gst_structure_get_string(s, "dimensions") : spelled.front(),
                    same_types ? gst_structure_get_string(s, "types") : types, layout);
  }
}

Result<CapsTensor> parse_tensor_caps(const GstCaps* caps) {
  DVNN_ASSIGN(const StreamCaps stream, parse_stream_caps(gst_caps_get_structure(caps, 0)));
  if (stream.tensors.size() != 1) return malformed("a static stream of one tensor is needed");
  const StreamTensor& only = stream.tensors.front();
  const auto type = element_type(only.type);
  if (!type) {
    return unsupported(
        format("types=%s: these would do: float16, float32, uint8, int8", to_string(only.type)));
  }
  return CapsTensor{*type, padded(only.dimensions, kUsualRank), stream.layout};
}

}  // namespace dvnn::gst
