// SPDX-License-Identifier: Apache-2.0
// dvinfer's source pad: frames with outputs out, in order; events and queries from downstream.
#pragma once

#include "elements/dvinfer/dvinferstate.h"

void gst_dv_infer_init_src_pad(GstDvInfer* self);
void gst_dv_infer_add_src_template(GstElementClass* klass);
/// Starts or pauses the source pad's task.
void gst_dv_infer_set_task(GstDvInfer* self, bool run);
