// SPDX-License-Identifier: Apache-2.0
// What dvinfer tells the pipeline of its latency, and how many frames may wait because of it.
#pragma once

#include "elements/dvinfer/dvinferstate.h"

/// From the first run and the caps: what latency is likely to be, before frames have told.
void gst_dv_infer_estimate_latency(GstDvInfer* self);
/// Tells the pipeline once frames have taken longer than was reported, or much less for long.
void gst_dv_infer_report_latency(GstDvInfer* self, const dvnn::gst::InferRules& rules);
/// The latency for a pipeline that asks.
GstClockTime gst_dv_infer_latency(GstDvInfer* self, const dvnn::gst::InferRules& rules);
/// How many frames the element holds at once at most, as the settings and the latency want it: in
/// the queue, and at its pads.
guint64 gst_dv_infer_most_held(GstDvInfer* self, const dvnn::gst::InferRules& rules);
/// Limits the queue's frames as the settings and the latency want it.
void gst_dv_infer_limit_frames(GstDvInfer* self, const dvnn::gst::InferRules& rules);
