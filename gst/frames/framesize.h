// SPDX-License-Identifier: Apache-2.0
// How large frames are, also those in memory and formats that GstVideoInfo does not know.
#pragma once

#include <gst/gst.h>

#include "image/view.h"

namespace dvnn::gst {

/// The width and height of fixed caps, 0 where they have none.
inline image::Size frame_size(const GstCaps* caps) {
  gint width = 0, height = 0;
  const GstStructure* fields = gst_caps_get_structure(caps, 0);
  gst_structure_get_int(fields, "width", &width);
  gst_structure_get_int(fields, "height", &height);
  return {static_cast<double>(width), static_cast<double>(height)};
}

}  // namespace dvnn::gst
