// SPDX-License-Identifier: Apache-2.0
// What a record::Unit of dvrecord holds.
#pragma once

#include <gst/gst.h>

#include <memory>
#include <utility>

#include "publish/document.h"
#include "record/ring.h"
#include "refs.h"

namespace dvnn::gst {

/// A buffer with memory of its own, so that the ring's budget is what it costs, and an encoder's
/// pool gets its buffers back.
struct Packet {
  BufferPtr buffer;
  publish::Times times;  // of video
  GstClockTime running_time = GST_CLOCK_TIME_NONE;
};

/// What was told, as data of a record::Event.
inline std::shared_ptr<const void> shared_structure(StructurePtr fields) {
  return std::shared_ptr<GstStructure>(std::move(fields));
}

using SharedCaps = std::shared_ptr<const CapsPtr>;

inline const Packet& packet_of(const record::Unit& unit) {
  return *static_cast<const Packet*>(unit.data.get());
}
inline const GstCaps* caps_of(const std::shared_ptr<const void>& format) {
  return format ? static_cast<const CapsPtr*>(format.get())->get() : nullptr;
}

}  // namespace dvnn::gst
