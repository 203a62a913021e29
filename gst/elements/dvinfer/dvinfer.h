// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gst/gst.h>

G_BEGIN_DECLS

#define GST_TYPE_DV_INFER (gst_dv_infer_get_type())
G_DECLARE_FINAL_TYPE(GstDvInfer, gst_dv_infer, GST, DV_INFER, GstElement)
GST_ELEMENT_REGISTER_DECLARE(dvinfer)

G_END_DECLS
