// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gst/base/gstbasetransform.h>

G_BEGIN_DECLS

#define GST_TYPE_DV_CONVERT (gst_dv_convert_get_type())
G_DECLARE_FINAL_TYPE(GstDvConvert, gst_dv_convert, GST, DV_CONVERT, GstBaseTransform)
GST_ELEMENT_REGISTER_DECLARE(dvconvert)

G_END_DECLS
