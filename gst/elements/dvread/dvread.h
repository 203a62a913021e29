// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gst/base/gstbasetransform.h>

G_BEGIN_DECLS

#define GST_TYPE_DV_READ (gst_dv_read_get_type())
G_DECLARE_FINAL_TYPE(GstDvRead, gst_dv_read, GST, DV_READ, GstBaseTransform)
GST_ELEMENT_REGISTER_DECLARE(dvread)

G_END_DECLS
