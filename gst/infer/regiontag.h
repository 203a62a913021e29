// SPDX-License-Identifier: Apache-2.0
// Tells dvdecode what a region of a frame is; the element that chose the region sets it.
#pragma once

#include <gst/gst.h>

#include "gst/dvnn/gstdvtensormeta.h"

namespace dvnn::gst {

struct RegionTag {
  GstDvRegionKind kind = GST_DV_REGION_FRAME;
  GQuark name = 0;     // name of a region in a list
  guint64 object = 0;  // id of the object that the region shows
};

}  // namespace dvnn::gst
