// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gst/base/gstbasetransform.h>

G_BEGIN_DECLS

#define GST_TYPE_DV_ZONES (gst_dv_zones_get_type())
G_DECLARE_FINAL_TYPE(GstDvZones, gst_dv_zones, GST, DV_ZONES, GstBaseTransform)
GST_ELEMENT_REGISTER_DECLARE(dvzones)

G_END_DECLS
