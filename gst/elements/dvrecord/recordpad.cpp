// SPDX-License-Identifier: Apache-2.0
#include "elements/dvrecord/recordpad.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "elements/dvpublish/framefacts.h"
#include "times.h"

namespace dvnn::gst {
namespace {

GstClockTime interval_of(const GstCaps* caps) {
  gint n = 0, d = 1;
  const GstStructure* fields = gst_caps_get_structure(caps, 0);
  const bool rated = gst_structure_get_fraction(fields, "framerate", &n, &d) && n > 0 && d > 0;
  return rated ? gst_util_uint64_scale_int(GST_SECOND, d, n) : 40 * GST_MSECOND;
}

// The buffer with memory of its own; null if there is none.
BufferPtr copy_of(GstBuffer* buffer) {
  const gsize size = gst_buffer_get_size(buffer);
  BufferPtr copy = allocate_buffer(size);
  if (!copy) return nullptr;
  const BufferMap map(copy.get(), GST_MAP_WRITE);
  if (!map.ok() || gst_buffer_extract(buffer, 0, map.data(), size) != size) return nullptr;
  copy_times(buffer, copy.get());
  return copy;
}

}  // namespace

void RecordPad::reset() {
  gst_segment_init(&segment, GST_FORMAT_UNDEFINED);
  caps.reset();
  flushes = 0;
  prerolled = ended = false;
  last = 0;
}

bool RecordPad::set_caps(GstCaps* taken) {
  interval = interval_of(taken);
  if (caps && gst_caps_is_strictly_equal(caps->get(), taken)) return false;
  caps = std::make_shared<const CapsPtr>(gst_caps_ref(taken));
  return true;
}

record::Unit RecordPad::unit_of(GstBuffer* buffer) {
  record::Unit unit;
  // Frames before a segment are needed to decode those within.
  const bool shown = signed_running_time(segment, GST_BUFFER_PTS(buffer), &unit.time);
  const bool decoded = signed_running_time(segment, GST_BUFFER_DTS(buffer), &unit.decode);
  if (!decoded) unit.decode = shown ? unit.time : last + static_cast<record::Time>(interval);
  if (!shown) unit.time = unit.decode;
  last = unit.decode;
  if (GST_BUFFER_DURATION_IS_VALID(buffer)) {
    unit.duration = static_cast<record::Time>(
        std::min<GstClockTime>(GST_BUFFER_DURATION(buffer), 3600 * GST_SECOND));
  }
  unit.key = !GST_BUFFER_FLAG_IS_SET(buffer, GST_BUFFER_FLAG_DELTA_UNIT);
  auto packet = std::make_shared<Packet>();
  packet->buffer = copy_of(buffer);
  if (!packet->buffer) return unit;
  if (kind == TrackKind::kVideo) packet->times = frame_times(buffer, segment);
  packet->running_time = unit.time >= 0 ? static_cast<GstClockTime>(unit.time) : 0;
  unit.bytes = gst_buffer_get_size(buffer);
  unit.format = caps;
  unit.data = std::move(packet);
  return unit;
}

}  // namespace dvnn::gst
