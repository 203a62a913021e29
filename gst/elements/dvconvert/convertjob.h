// SPDX-License-Identifier: Apache-2.0
// Decides which tensor dvconvert makes: the one that a dvinfer asks for or, for a stream of tensors
// without a dvinfer, the one that its own settings describe.
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
  bool in_slot = true;  // whether the bytes are those of a dvinfer's slots
};

/// Plans the tensor to make: for a dvinfer, by the CPU or by a device that takes pixels; or,
/// without a dvinfer, for a stream of tensors. `stream`: fixed caps of a stream of tensors, which
/// must fit, or null for frames. Nothing if no tensor is wanted.
Result<std::optional<ConvertJob>> plan_job(const ConvertSettings& settings,
                                           const std::optional<TensorRequest>& request,
                                           const GstCaps* stream);

/// Transforms `caps` of the pad of `direction` into those possible on the other: the same frames,
/// or tensors at the same rate.
CapsPtr convert_caps(GstPadDirection direction, const GstCaps* caps);
/// Completes the caps of a stream of tensors: what downstream leaves open follows from the frame
/// and the settings.
CapsPtr complete_tensor_caps(const ConvertSettings& settings, const GstCaps* video,
                             CapsPtr tensors);

}  // namespace dvnn::gst
