// SPDX-License-Identifier: Apache-2.0
// dvinfer's worker threads.
#pragma once

#include "elements/dvinfer/dvinferstate.h"

/// Worker threads as GstTasks, announced by STREAM_STATUS messages, so that an application can set
/// their priority as it does for other streaming threads.
void gst_dv_infer_start_workers(GstDvInfer* self, guint count);
/// Ends and joins the workers. A worker that waits for a device that does not answer is left
/// behind; it ends by itself, or never. Returns whether all have ended.
bool gst_dv_infer_stop_workers(GstDvInfer* self);
