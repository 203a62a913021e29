// SPDX-License-Identifier: Apache-2.0
// dvinfer's source pad: frames with outputs out, in order; events and queries from downstream.
#pragma once

#include "elements/dvinfer/dvinferstate.h"

void gst_dv_infer_init_src_pad(GstDvInfer* self);
void gst_dv_infer_add_src_template(GstElementClass* klass);
/// Pushes what has left the queue: a frame with its outputs, if it has any, or an event. The source
/// pad's task does that or, while the queue stands aside, the sink side.
GstFlowReturn gst_dv_infer_push_item(GstDvInfer* self, dvnn::gst::InferItem* item);
/// Starts or pauses the source pad's task.
void gst_dv_infer_set_task(GstDvInfer* self, bool run);
