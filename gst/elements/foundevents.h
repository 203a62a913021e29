// SPDX-License-Identifier: Apache-2.0
// Sends events that dvtrack and dvzones find downstream, as serialised custom events before the
// frame with which they were found, or at the end of the stream. Each is sent once and in order,
// even if frames are doubled or dropped on the way.
#pragma once

#include <gst/gst.h>

#include <vector>

#include "refs.h"

namespace dvnn::gst {

class FoundEvents {
 public:
  explicit FoundEvents(GstPad* pad) : pad_(pad) {}

  void tell(const GstStructure* found) {
    EventPtr event(gst_event_new_custom(GST_EVENT_CUSTOM_DOWNSTREAM, gst_structure_copy(found)));
    if (held_) {
      waiting_.push_back(std::move(event));
    } else {
      gst_pad_push_event(pad_, event.release());
    }
  }
  /// Holds events back during a flush, when downstream takes none.
  void hold() { held_ = true; }
  void release() {
    held_ = false;
    for (EventPtr& event : waiting_) gst_pad_push_event(pad_, event.release());
    waiting_.clear();
  }

 private:
  GstPad* const pad_;
  bool held_ = false;
  std::vector<EventPtr> waiting_;
};

}  // namespace dvnn::gst
