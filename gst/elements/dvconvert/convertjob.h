// SPDX-License-Identifier: Apache-2.0
// Decides which tensor dvconvert makes: the one that dvinfer asks for or, for a stream of tensors
// without a dvinfer, the one of its own settings.
#pragma once

#include <optional>

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

/// The tensor to be made: a network's, made here or by a device that takes the pixels, or that of a
/// stream without a dvinfer. `stream` are the caps of a stream of tensors, which must fit, or null
/// for frames. There is none if neither wants one.
Result<std::optional<ConvertJob>> plan_job(const ConvertSettings& settings,
                                           const std::optional<TensorRequest>& request,
                                           const GstCaps* stream);

/// Caps of the other pad of one of this direction and caps: frames pass as they are, or become
/// tensors of the same rate.
CapsPtr convert_caps(GstPadDirection direction, const GstCaps* caps);
/// Completes the caps of a stream of tensors: the frame and the settings decide what downstream
/// leaves open.
CapsPtr complete_tensor_caps(const ConvertSettings& settings, const GstCaps* video,
                             CapsPtr tensors);

}  // namespace dvnn::gst
