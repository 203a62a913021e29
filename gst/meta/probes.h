// SPDX-License-Identifier: Apache-2.0
// Buffers of pad probes, for metas that applications add there.
#pragma once

#include <gst/gst.h>

namespace dvnn::gst {

/// Makes the buffer of a probe writable, and returns it; null if the probe is about no buffer.
inline GstBuffer* make_probe_writable(GstPadProbeInfo* info) {
  if (!(GST_PAD_PROBE_INFO_TYPE(info) & GST_PAD_PROBE_TYPE_BUFFER)) return nullptr;
  GstBuffer* buffer = GST_PAD_PROBE_INFO_BUFFER(info);
  if (!buffer) return nullptr;
  buffer = gst_buffer_make_writable(buffer);
  GST_PAD_PROBE_INFO_DATA(info) = buffer;
  return buffer;
}

}  // namespace dvnn::gst
