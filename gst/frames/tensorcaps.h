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

/// For pad templates: streams whose caps say what each buffer holds, and streams whose buffers do.
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

/// What a structure of caps says of its stream.
struct StreamCaps {
  bool flexible = false;
  std::string layout;                 // how dimensions are meant, if one of ours says
  std::vector<StreamTensor> tensors;  // of a static stream
};

/// kMalformed if that is no stream, or one that is not described; the message says why.
Result<StreamCaps> parse_stream_caps(const GstStructure* structure);

/// Appends caps of a static stream of these tensors at any frame rate, in the spellings that are
/// usual and in those that `filter` (may be null) has. `layout`: for parse_stream_caps(), or null.
void append_tensors_caps(GstCaps* caps, const std::vector<StreamTensor>& tensors,
                         const GstCaps* filter, const char* layout);

/// What fixed caps say of a static stream's only tensor.
struct CapsTensor {
  ElementType type = ElementType::kFloat16;
  std::vector<int> dimensions;  // innermost first, without trailing ones beyond the fourth
  std::string layout;
};

/// kMalformed if there are several tensors, or one that is none of ours; the message says why.
Result<CapsTensor> parse_tensor_caps(const GstCaps* caps);

}  // namespace dvnn::gst
