// SPDX-License-Identifier: Apache-2.0
// Tells dvdecode what a region of a frame is; the element that chose the region sets it.
#pragma once

#include <gst/gst.h>

#include "gst/dvnn/gstdvtensormeta.h"

namespace dvnn::gst {

struct RegionTag {
  GstDvRegionKind kind = GST_DV_REGION_FRAME;
  GQuark name = 0;     // of a region of a list
  guint64 object = 0;  // whose region it is, by its id
};

}  // namespace dvnn::gst
