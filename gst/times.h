// SPDX-License-Identifier: Apache-2.0
// Times of frames within their segment; GST_CLOCK_TIME_NONE where a frame or its segment has none.
#pragma once

#include <gst/gst.h>

namespace dvnn::gst {

inline GstClockTime running_time(const GstSegment& segment, GstBuffer* frame) {
  if (segment.format != GST_FORMAT_TIME || !GST_BUFFER_PTS_IS_VALID(frame)) {
    return GST_CLOCK_TIME_NONE;
  }
  return gst_segment_to_running_time(&segment, GST_FORMAT_TIME, GST_BUFFER_PTS(frame));
}

/// Returns a time as running time that may be negative, also of one outside the segment. False if
/// it has none, or one that is too large to count with.
inline bool signed_running_time(const GstSegment& segment, GstClockTime time, gint64* running) {
  if (!GST_CLOCK_TIME_IS_VALID(time) || segment.format != GST_FORMAT_TIME) return false;
  guint64 value = 0;
  const gint sign = gst_segment_to_running_time_full(&segment, GST_FORMAT_TIME, time, &value);
  if (sign == 0 || value > G_MAXINT64 / 8) return false;
  *running = sign * static_cast<gint64>(value);
  return true;
}

inline GstClockTime stream_time(const GstSegment& segment, GstBuffer* frame) {
  if (segment.format != GST_FORMAT_TIME || !GST_BUFFER_PTS_IS_VALID(frame)) {
    return GST_CLOCK_TIME_NONE;
  }
  return gst_segment_to_stream_time(&segment, GST_FORMAT_TIME, GST_BUFFER_PTS(frame));
}

/// Sets an element's controlled properties to their values at the frame's time.
inline void sync_properties(gpointer element, const GstSegment& segment, GstBuffer* frame) {
  const GstClockTime time = stream_time(segment, frame);
  if (GST_CLOCK_TIME_IS_VALID(time)) gst_object_sync_values(GST_OBJECT(element), time);
}

/// Copies times and flags of `from` to `to`, which has other memory.
inline void copy_times(GstBuffer* from, GstBuffer* to) {
  gst_buffer_copy_into(
      to, from, static_cast<GstBufferCopyFlags>(GST_BUFFER_COPY_FLAGS | GST_BUFFER_COPY_TIMESTAMPS),
      0, static_cast<gsize>(-1));
}

}  // namespace dvnn::gst
