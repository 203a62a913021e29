// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gst/base/gstbasetransform.h>

G_BEGIN_DECLS

#define GST_TYPE_DV_PUBLISH (gst_dv_publish_get_type())
G_DECLARE_FINAL_TYPE(GstDvPublish, gst_dv_publish, GST, DV_PUBLISH, GstBaseTransform)
GST_ELEMENT_REGISTER_DECLARE(dvpublish)

G_END_DECLS
