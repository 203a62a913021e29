// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gst/base/gstbasetransform.h>

G_BEGIN_DECLS

#define GST_TYPE_DV_OVERLAY (gst_dv_overlay_get_type())
G_DECLARE_FINAL_TYPE(GstDvOverlay, gst_dv_overlay, GST, DV_OVERLAY, GstBaseTransform)
GST_ELEMENT_REGISTER_DECLARE(dvoverlay)

G_END_DECLS
