// SPDX-License-Identifier: Apache-2.0
// Streams of tensors: NNStreamer's static caps, other/tensors. A buffer has one memory per tensor;
// dimensions are innermost first, so a picture's are C:W:H:N where channels lie side by side.
#pragma once

#include <gst/gst.h>

#include <string>
#include <vector>

#include "base/result.h"
#include "tensor/tensor.h"

namespace dvnn::gst {

/// For pad templates.
#define DVNN_TENSORS_CAPS \
  "other/tensors, format=(string)static, framerate=(fraction)[ 0/1, 2147483647/1 ]"

bool is_tensors_caps(const GstCaps* caps);

/// Dimensions of a tensor as its elements lie in memory, innermost first, at least four. Layouts in
/// several chunks have no such dimensions: one of all elements.
std::vector<int> caps_dimensions(const TensorDesc& desc);

/// "3:300:300:1".
std::string format_dimensions(const std::vector<int>& dimensions);

/// Caps of a stream of these tensors, without a frame rate. (transfer full)
GstCaps* tensors_caps(const std::vector<TensorDesc>& tensors);

/// What fixed caps say of a stream's only tensor.
struct CapsTensor {
  ElementType type = ElementType::kFloat16;
  std::vector<int> dimensions;  // innermost first, without trailing ones beyond the fourth

  int64_t bytes() const;
};

/// kMalformed if there are several tensors, or one that is none of ours; the message says why.
Result<CapsTensor> parse_tensor_caps(const GstCaps* caps);

}  // namespace dvnn::gst
