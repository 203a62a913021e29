// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gst/base/gstbasetransform.h>

G_BEGIN_DECLS

#define GST_TYPE_DV_DECODE (gst_dv_decode_get_type())
G_DECLARE_FINAL_TYPE(GstDvDecode, gst_dv_decode, GST, DV_DECODE, GstBaseTransform)
GST_ELEMENT_REGISTER_DECLARE(dvdecode)

G_END_DECLS
