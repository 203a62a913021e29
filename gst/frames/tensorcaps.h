// SPDX-License-Identifier: Apache-2.0
// Caps of streams of tensors, other/tensors, in NNStreamer's form. Dimensions are innermost first:
// a picture whose channels lie side by side is C:W:H:N. Trailing ones mean nothing, but GStreamer
// does not know that: we offer caps in the usual spellings, and compare them by meaning.
#pragma once

#include <gst/gst.h>

#include <string>
#include <vector>

#include "base/result.h"
#include "frames/nnstreamer.h"
#include "tensor/tensor.h"

namespace dvnn::gst {

/// For pad templates: static streams, whose caps describe each buffer, and flexible ones, whose
/// buffers describe themselves.
#define DVNN_STATIC_TENSORS_CAPS \
  "other/tensors, format=(string)static, framerate=(fraction)[ 0/1, 2147483647/1 ]"
#define DVNN_FLEXIBLE_TENSORS_CAPS \
  "other/tensors, format=(string)flexible, framerate=(fraction)[ 0/1, 2147483647/1 ]"
#define DVNN_TENSORS_CAPS DVNN_STATIC_TENSORS_CAPS "; " DVNN_FLEXIBLE_TENSORS_CAPS

bool is_tensors_caps(const GstCaps* caps);

/// Returns a tensor's dimensions in memory order, innermost first, at least four. A layout with
/// several chunks has no such dimensions: it gives one, the number of elements.
std::vector<int> caps_dimensions(const TensorDesc& desc);
/// Returns `desc` as a stream's tensor.
StreamTensor stream_tensor(const TensorDesc& desc);

/// "3:300:300:1".
std::string format_dimensions(const std::vector<int>& dimensions);
/// Returns "float16 3:300:300:1": type and dimensions, at least four.
std::string describe(const StreamTensor& tensor);

/// A stream as a structure of caps describes it.
struct StreamCaps {
  bool flexible = false;
  std::string layout;  // meaning of the dimensions, if one of our elements states it
  std::vector<StreamTensor>
      tensors;  // of a static stream; each buffer of a flexible one describes its own
};

/// Reads a structure of caps. kMalformed if it describes no stream of tensors; the message says
/// why.
Result<StreamCaps> parse_stream_caps(const GstStructure* structure);

/// Appends caps of a static stream of these tensors at any frame rate, in the usual spellings and
/// in those of `filter` (may be null). `layout`: value of the field that parse_stream_caps() reads,
/// or null.
void append_tensors_caps(GstCaps* caps, const std::vector<StreamTensor>& tensors,
                         const GstCaps* filter, const char* layout);

/// The only tensor of a static stream, as fixed caps describe it.
struct CapsTensor {
  ElementType type = ElementType::kFloat16;
  std::vector<int> dimensions;  // innermost first; trailing ones beyond the fourth are removed
  std::string layout;
};

/// Reads fixed caps of one tensor. kMalformed if there are several, or one that we cannot use; the
/// message says why.
Result<CapsTensor> parse_tensor_caps(const GstCaps* caps);

}  // namespace dvnn::gst
