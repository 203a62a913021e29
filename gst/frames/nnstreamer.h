// SPDX-License-Identifier: Apache-2.0
// Tensors as NNStreamer 2.4's elements hand them on: element types and dimensions, the header that
// a flexible stream has before each tensor, and how more than 16 tensors share a buffer. The rules
// are those of its documentation (docs/nnstreamer.md says which) and of its public headers.
#pragma once

#include <gst/gst.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/span.h"
#include "refs.h"
#include "tensor/tensor.h"

namespace dvnn::gst {

/// Element types by the numbers that headers have.
enum class StreamType : uint32_t {
  kInt32,
  kUint32,
  kInt16,
  kUint16,
  kInt8,
  kUint8,
  kFloat64,
  kFloat32,
  kInt64,
  kUint64,
  kFloat16,
};

size_t element_size(StreamType type);
const char* to_string(StreamType type);  // as caps have it: "float32"
std::optional<StreamType> parse_stream_type(const std::string& text);
StreamType stream_type(ElementType type);
/// Returns our element type, or nothing if we have no such type.
std::optional<ElementType> element_type(StreamType type);

/// One tensor of a stream.
struct StreamTensor {
  StreamType type = StreamType::kFloat32;
  /// Innermost first, without trailing ones, which mean nothing. At least one dimension.
  std::vector<int> dimensions = {1};

  size_t bytes() const;
  bool operator==(const StreamTensor& o) const {
    return type == o.type && dimensions == o.dimensions;
  }
};

/// Removes trailing ones, but keeps at least one dimension.
void drop_trailing_ones(std::vector<int>* dimensions);

constexpr size_t kMaxStreamRank = 16;
/// Most tensors in a buffer, and most memories for them.
constexpr size_t kMaxStreamTensors = 256, kMaxStreamMemories = 16;
/// Most elements of an accepted tensor.
constexpr int64_t kMaxStreamElements = int64_t{1} << 28;

/// Makes a tensor from its dimensions, which may end with ones or, beyond the rank, with zeros.
/// kMalformed if they describe no tensor; the caller adds which tensor it is.
Result<StreamTensor> make_stream_tensor(StreamType type, Span<const uint32_t> dimensions);

/// Bytes before each tensor of a flexible stream.
constexpr size_t kStreamHeaderBytes = 128;
/// Reads a header of a flexible stream. kMalformed if it is no header, or contradicts itself.
Result<StreamTensor> read_stream_header(Span<const uint8_t> header);
void write_stream_header(const StreamTensor& tensor, uint8_t* header);

/// Returns the byte offset of tensor `index` of a static stream within a buffer, however the buffer
/// is divided into memories. kMalformed if the buffer does not hold these tensors.
Result<size_t> stream_offset(GstBuffer* buffer, const std::vector<StreamTensor>& tensors,
                             size_t index);
/// Returns a buffer with one memory for each tensor; from the 16th on, tensors share one memory.
Result<BufferPtr> stream_buffer(std::vector<MemoryPtr> memories,
                                const std::vector<StreamTensor>& tensors);

}  // namespace dvnn::gst
