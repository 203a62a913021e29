// SPDX-License-Identifier: Apache-2.0
// Caps of streams of tensors, other/tensors, as NNStreamer has them. Dimensions are innermost
// first, so a picture's are C:W:H:N where channels lie side by side. Trailing ones mean nothing,
// which GStreamer does not know: caps are offered in the usual spellings, and compared by meaning.
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

/// Dimensions of a tensor as its elements lie in memory, innermost first, at least four. Layouts in
/// several chunks have no such dimensions: one of all elements.
std::vector<int> caps_dimensions(const TensorDesc& desc);
/// The same as a stream's tensor.
StreamTensor stream_tensor(const TensorDesc& desc);

/// "3:300:300:1".
std::string format_dimensions(const std::vector<int>& dimensions);
/// "float16 3:300:300:1", with as many ones as make four.
std::string describe(const StreamTensor& tensor);

/// A stream as a structure of caps describes it.
struct StreamCaps {
  bool flexible = false;
  std::string layout;                 // how dimensions are meant, if one of ours says
  std::vector<StreamTensor> tensors;  // of a static stream
};

/// kMalformed if the structure is no stream, or does not describe it; the message says why.
Result<StreamCaps> parse_stream_caps(const GstStructure* structure);

/// Appends caps of a static stream of these tensors at any frame rate, in the usual spellings and
/// in those of `filter` (may be null). `layout`: for parse_stream_caps(), or null.
void append_tensors_caps(GstCaps* caps, const std::vector<StreamTensor>& tensors,
                         const GstCaps* filter, const char* layout);

/// The only tensor of a static stream, as fixed caps describe it.
struct CapsTensor {
  ElementType type = ElementType::kFloat16;
  std::vector<int> dimensions;  // innermost first, without trailing ones beyond the fourth
  std::string layout;
};

/// kMalformed if there are several tensors, or one that we cannot use; the message says why.
Result<CapsTensor> parse_tensor_caps(const GstCaps* caps);

}  // namespace dvnn::gst
