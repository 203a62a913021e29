// SPDX-License-Identifier: Apache-2.0
#include "frames/nnstreamer.h"

#include <algorithm>
#include <cstring>

#include "base/format.h"
#include "base/nth.h"

namespace dvnn::gst {
namespace {

struct TypeRow {
  const char* name;
  size_t size;
};

// One entry per StreamType, in its order.
constexpr TypeRow kTypes[] = {{"int32", 4}, {"uint32", 4}, {"int16", 2},   {"uint16", 2},
                              {"int8", 1},  {"uint8", 1},  {"float64", 8}, {"float32", 4},
                              {"int64", 8}, {"uint64", 8}, {"float16", 2}};
constexpr uint32_t kTypeCount = sizeof kTypes / sizeof *kTypes;

// The used part of a header, which has 128 bytes in the machine's byte order.
struct Header {
  uint32_t magic;
  uint32_t version;
  uint32_t type;
  uint32_t dimensions[kMaxStreamRank];
  uint32_t format;
  uint32_t media_type;
};
static_assert(sizeof(Header) <= kStreamHeaderBytes);

constexpr uint32_t kHeaderMagic = 0xfeedcced;
constexpr uint32_t kVersionMark = 0xde000000, kVersionMajor = 0x00fff000;
constexpr uint32_t kVersion1 = kVersionMark | 1 << 12;
constexpr uint32_t kFlexible = 1, kSparse = 2;
constexpr uint32_t kMediaTensor = 4;  // NNStreamer's last media type

// Begins the 16th memory of a buffer that has more tensors than memories.
struct ExtraTensors {
  struct Info {
    char* name;
    uint32_t type;
    uint32_t dimensions[kMaxStreamRank];
  };
  uint32_t magic;
  uint32_t version;
  uint32_t count;        // number of tensors beyond the 16th
  uint64_t first_bytes;  // size of the 16th tensor
  Info infos[kMaxStreamTensors - kMaxStreamMemories];
};
constexpr uint32_t kExtraMagic = 0xf00dc0de;

void fill_dimensions(const StreamTensor& tensor, uint32_t* to) {
  std::copy(tensor.dimensions.begin(), tensor.dimensions.end(), to);
}

}  // namespace

size_t element_size(StreamType type) {
  return nth(kTypes, type).size;
}

const char* to_string(StreamType type) {
  return nth(kTypes, type).name;
}

std::optional<StreamType> parse_stream_type(const std::string& text) {
  for (uint32_t i = 0; i < kTypeCount; ++i) {
    if (text == kTypes[i].name) return static_cast<StreamType>(i);
  }
  return std::nullopt;
}

StreamType stream_type(ElementType type) {
  switch (type) {
    case ElementType::kFloat16:
      return StreamType::kFloat16;
    case ElementType::kFloat32:
      return StreamType::kFloat32;
    case ElementType::kUint8:
      return StreamType::kUint8;
    case ElementType::kInt8:
      return StreamType::kInt8;
  }
  return StreamType::kFloat32;
}

std::optional<ElementType> element_type(StreamType type) {
  for (ElementType ours :
       {ElementType::kFloat16, ElementType::kFloat32, ElementType::kUint8, ElementType::kInt8}) {
    if (stream_type(ours) == type) return ours;
  }
  return std::nullopt;
}

size_t StreamTensor::bytes() const {
  int64_t elements = 1;
  for (int d : dimensions) elements *= d;
  return static_cast<size_t>(elements) * element_size(type);
}

void drop_trailing_ones(std::vector<int>* dimensions) {
  while (dimensions->size() > 1 && dimensions->back() == 1) dimensions->pop_back();
}

Result<StreamTensor> make_stream_tensor(StreamType type, Span<const uint32_t> dimensions) {
  StreamTensor tensor;
  tensor.type = type;
  tensor.dimensions.clear();
  size_t rank = dimensions.size();
  while (rank > 0 && dimensions[rank - 1] == 0) --rank;
  int64_t elements = 1;
  bool good = rank > 0 && rank <= kMaxStreamRank;
  for (size_t i = 0; i < rank && good; ++i) {
    good = dimensions[i] > 0 && dimensions[i] <= kMaxStreamElements / elements;
    if (!good) break;
    tensor.dimensions.push_back(static_cast<int>(dimensions[i]));
    elements *= dimensions[i];
  }
  if (!good) {
    return malformed(
        format("must be at most %zu positive numbers like 3:300:300:1, of at most %lld elements",
               kMaxStreamRank, static_cast<long long>(kMaxStreamElements)));
  }
  drop_trailing_ones(&tensor.dimensions);
  return tensor;
}

// --- flexible streams --------------------------------------------------------------------------

Result<StreamTensor> read_stream_header(Span<const uint8_t> bytes) {
  Header header;
  if (bytes.size() < kStreamHeaderBytes) {
    return malformed(
        format("%zu bytes are too few for a header of %zu", bytes.size(), kStreamHeaderBytes));
  }
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.magic == kExtraMagic) {
    return malformed("more than 16 tensors in a buffer are not read from a flexible stream");
  }
  if (header.magic != kHeaderMagic ||
      (header.version & ~(kVersionMajor | 0xfffU)) != kVersionMark ||
      (header.version & kVersionMajor) != (kVersion1 & kVersionMajor)) {
    return malformed(format("a header begins with %08x, version %08x, and not with %08x, %08x",
                            header.magic, header.version, kHeaderMagic, kVersion1));
  }
  if (header.type >= kTypeCount) {
    return malformed(
        format("a header's element type is %u; there are %u", header.type, kTypeCount));
  }
  if (header.format >= kSparse) {
    return malformed(format("a header's format is %u: sparse tensors are not read", header.format));
  }
  if (header.media_type > kMediaTensor) {
    return malformed(
        format("a header's media type is %u; there are %u", header.media_type, kMediaTensor + 1));
  }
  auto tensor = make_stream_tensor(static_cast<StreamType>(header.type),
                                   Span<const uint32_t>(header.dimensions, kMaxStreamRank));
  if (!tensor.ok()) return tensor.error().within("a header's dimensions");
  return tensor;
}

void write_stream_header(const StreamTensor& tensor, uint8_t* bytes) {
  Header header = {};
  header.magic = kHeaderMagic;
  header.version = kVersion1;
  header.type = static_cast<uint32_t>(tensor.type);
  fill_dimensions(tensor, header.dimensions);
  header.format = kFlexible;
  header.media_type = kMediaTensor;
  std::memset(bytes, 0, kStreamHeaderBytes);
  std::memcpy(bytes, &header, sizeof header);
}

// --- static streams ----------------------------------------------------------------------------

Result<size_t> stream_offset(GstBuffer* buffer, const std::vector<StreamTensor>& tensors,
                             size_t index) {
  size_t all = 0, offset = 0, shared_from = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (i == index) offset = all;
    if (i == kMaxStreamMemories - 1) shared_from = all;
    all += tensors[i].bytes();
  }
  const size_t have = gst_buffer_get_size(buffer);
  if (tensors.size() <= kMaxStreamMemories) {
    if (have == all) return offset;
    return malformed(
        format("a buffer of %zu bytes came; its %zu tensors have %zu", have, tensors.size(), all));
  }
  // The size of this part depends on the architecture, because it holds pointers.
  const size_t extra = sizeof(ExtraTensors);
  uint32_t magic = 0;
  if (have != all + extra ||
      gst_buffer_extract(buffer, shared_from, &magic, sizeof magic) != sizeof magic ||
      magic != kExtraMagic) {
    return malformed(
        format("a buffer of %zu bytes came; its %zu tensors have %zu, and %zu before the 16th",
               have, tensors.size(), all, extra));
  }
  return index < kMaxStreamMemories - 1 ? offset : offset + extra;
}

// Returns the memory that holds the 16th tensor and all further ones.
static Result<MemoryPtr> shared_memory(const std::vector<MemoryPtr>& memories,
                                       const std::vector<StreamTensor>& tensors) {
  constexpr size_t kFirst = kMaxStreamMemories - 1;
  auto extra = std::make_unique<ExtraTensors>();
  extra->magic = kExtraMagic;
  extra->count = static_cast<uint32_t>(memories.size() - kMaxStreamMemories);
  extra->first_bytes = gst_memory_get_sizes(memories[kFirst].get(), nullptr, nullptr);
  size_t size = sizeof(ExtraTensors);
  for (size_t i = kFirst; i < memories.size(); ++i) {
    size += gst_memory_get_sizes(memories[i].get(), nullptr, nullptr);
  }
  for (size_t i = 0; i < std::size(extra->infos); ++i) {
    const size_t tensor = kMaxStreamMemories + i;
    const bool used = tensor < tensors.size();
    extra->infos[i].type = used ? static_cast<uint32_t>(tensors[tensor].type) : kTypeCount;
    if (used) fill_dimensions(tensors[tensor], extra->infos[i].dimensions);
  }
  const Error no_memory = {ErrorCode::kNoMemory,
                           format("no memory for tensors of %zu bytes", size)};
  MemoryPtr shared = allocate_memory(size);
  GstMapInfo to, from;
  if (!shared || !gst_memory_map(shared.get(), &to, GST_MAP_WRITE)) return no_memory;
  std::memcpy(to.data, extra.get(), sizeof *extra);
  size_t at = sizeof *extra;
  bool good = true;
  for (size_t i = kFirst; i < memories.size() && good; ++i) {
    good = gst_memory_map(memories[i].get(), &from, GST_MAP_READ);
    if (!good) break;
    std::memcpy(to.data + at, from.data, from.size);
    at += from.size;
    gst_memory_unmap(memories[i].get(), &from);
  }
  gst_memory_unmap(shared.get(), &to);
  if (!good) return no_memory;
  return shared;
}

Result<BufferPtr> stream_buffer(std::vector<MemoryPtr> memories,
                                const std::vector<StreamTensor>& tensors) {
  if (memories.size() > kMaxStreamMemories) {
    DVNN_ASSIGN(MemoryPtr shared, shared_memory(memories, tensors));
    memories.resize(kMaxStreamMemories - 1);
    memories.push_back(std::move(shared));
  }
  BufferPtr buffer(gst_buffer_new());
  for (MemoryPtr& memory : memories) gst_buffer_append_memory(buffer.get(), memory.release());
  return buffer;
}

}  // namespace dvnn::gst
