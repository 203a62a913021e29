// SPDX-License-Identifier: Apache-2.0
// Takes slots of the dvinfer downstream, and decides how long a frame waits for one.
#pragma once

#include <gst/gst.h>

#include "infer/slotmeta.h"
#include "infer/tensorrequest.h"

namespace dvnn::gst {

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
