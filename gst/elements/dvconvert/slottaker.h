// SPDX-License-Identifier: Apache-2.0
// Takes slots of the dvinfer downstream, and decides how long a frame waits for one.
#pragma once

#include <gst/gst.h>

#include "infer/slotmeta.h"
#include "infer/tensorrequest.h"

namespace dvnn::gst {

/// Takes slots for frames. A frame that `may_wait` has our patience; a live one does not wait, so
/// that a camera keeps its rate and a leaky queue on either side leaks. Where one wait was in vain,
/// the next frames do not wait until there are slots again, so that what holds them does not set
/// the pace. Only the `first` of a frame's regions waits: what the others would wait for may be
/// this very frame.
class SlotTaker {
 public:
  /// A slot, or null if none came free; the log says so in the name of `element`.
  SlotPtr take(GstObject* element, const TensorRequest& request, bool may_wait, bool first);

 private:
  bool waited_in_vain_ = false;  // for the last slot
};

/// Returns how many objects of a frame that is not to wait for its results can be looked at: those
/// that get slots at once, and one at least. 0: frames wait, and all of them can.
size_t room_for_objects(const TensorRequest& request);

}  // namespace dvnn::gst
