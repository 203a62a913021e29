// SPDX-License-Identifier: Apache-2.0
// Decides which tensor dvconvert makes: the one that dvinfer asks for or, for a stream of tensors
// without a dvinfer, the one of its own settings.
#pragma once

#include "elements/dvconvert/convertsettings.h"
#include "infer/tensorrequest.h"
#include "refs.h"

namespace dvnn::gst {

struct ConvertJob {
  TensorTarget target;
  InputSpec input;
  network::InputKind kind = network::InputKind::kTensor;
  bool in_slot = true;  // the tensor's bytes are those that the slots of a dvinfer take
};

/// A network's tensor: made here, or by a device that takes the pixels. `stream` are the caps of a
/// stream of tensors, which must fit, or null for frames.
Result<ConvertJob> plan_request(const ConvertSettings& settings, const TensorRequest& request,
                                const GstCaps* stream);
/// The tensor of a stream with these caps.
Result<ConvertJob> plan_stream(const ConvertSettings& settings, const GstCaps* caps);

/// Caps of the other pad of one of this direction and caps: frames pass as they are, or become
/// tensors of the same rate.
CapsPtr convert_caps(GstPadDirection direction, const GstCaps* caps);
/// Completes the caps of a stream of tensors: the frame and the settings decide what downstream
/// leaves open.
CapsPtr complete_tensor_caps(const ConvertSettings& settings, const GstCaps* video,
                             CapsPtr tensors);

}  // namespace dvnn::gst
