// SPDX-License-Identifier: Apache-2.0
// Decides which tensor dvconvert makes: the one that a dvinfer asks for or, for a stream of tensors
// without a dvinfer, the one that its own settings describe. Takes slots of the dvinfer downstream
// for it, and decides how long a frame waits for one.
#pragma once

#include <optional>

#include "elements/dvconvert/convertsettings.h"
#include "infer/slotmeta.h"
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

/// Takes slots for frames. A frame that `may_wait` waits up to SlotPool::kPatience; a live one does
/// not, so that a camera keeps its rate, and a leaky queue on either side leaks. After a wait in
/// vain, frames do not wait until a slot has been free again: an element that holds slots must not
/// set the pace. Only the `first` region of a frame waits, because this very frame may hold the
/// slots that the others would wait for.
class SlotTaker {
 public:
  /// Returns a slot, or null if none came free; logs it for `element`.
  SlotPtr take(GstObject* element, const TensorRequest& request, bool may_wait, bool first);

 private:
  bool waited_in_vain_ = false;  // whether the last first region found none
};

/// Returns how many objects of a frame can be inferred without waiting: as many as there are free
/// slots, at least one. 0 if frames wait for their results anyway: then there is no limit.
size_t room_for_objects(const TensorRequest& request);

}  // namespace dvnn::gst
