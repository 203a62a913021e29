// SPDX-License-Identifier: Apache-2.0
// Values of a network's live inputs, which come beside the frame: from the property live-inputs, or
// as tensors that the frame carries.
#pragma once

#include <gst/gst.h>

#include <map>
#include <string>

#include "base/result.h"
#include "network/stream_memory.h"

namespace dvnn::gst {

/// One number for every element of an input, by the input's name.
using LiveNumbers = std::map<std::string, float>;

/// Parses "NAME=NUMBER,NAME=NUMBER". kInvalidArgument tells the part that is not so.
Result<LiveNumbers> parse_live_numbers(const std::string& text);
/// kInvalidArgument if a name is no live input of the model.
Status check_live_numbers(const LiveNumbers& numbers, const network::Model& model);

/// Reads the live inputs that `inputs` does not have yet: each from the newest GstDvTensorMeta of
/// the frame with a tensor of its name, which must have as many elements, else from `numbers`.
/// kInvalidArgument names an input that has neither.
Status read_live_inputs(GstBuffer* frame, const LiveNumbers& numbers, const network::Model& model,
                        network::LiveInputs* inputs);

}  // namespace dvnn::gst
