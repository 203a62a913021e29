// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gst/base/gstbasetransform.h>

G_BEGIN_DECLS

#define GST_TYPE_DV_TRACK (gst_dv_track_get_type())
G_DECLARE_FINAL_TYPE(GstDvTrack, gst_dv_track, GST, DV_TRACK, GstBaseTransform)
GST_ELEMENT_REGISTER_DECLARE(dvtrack)

G_END_DECLS
