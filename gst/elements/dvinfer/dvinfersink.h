// SPDX-License-Identifier: Apache-2.0
// dvinfer's sink pad: frames, events and queries that come in.
#pragma once

#include "elements/dvinfer/dvinferstate.h"

void gst_dv_infer_init_sink_pad(GstDvInfer* self);
void gst_dv_infer_add_sink_template(GstElementClass* klass);
