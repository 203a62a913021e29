// SPDX-License-Identifier: Apache-2.0
// What networks upstream have left word of on a frame.
#pragma once

#include "gst/dvnn/gstdvobjectsmeta.h"

namespace dvnn::gst {

/// Returns the pass of the nearest network upstream, or null if none has left word. The frame owns
/// it.
inline const GstDvPass* newest_pass(GstBuffer* frame) {
  const GstDvObjectsMeta* meta = gst_buffer_get_dv_objects_meta(frame);
  const guint passes = meta ? gst_dv_objects_meta_get_n_passes(meta) : 0;
  return passes > 0 ? gst_dv_objects_meta_get_pass(meta, passes - 1) : nullptr;
}

/// Returns whether the network has run on at least one part of the frame.
inline bool has_run(const GstDvPass& pass) {
  return pass.state == GST_DV_PASS_INFERRED && pass.regions > 0;
}

}  // namespace dvnn::gst
