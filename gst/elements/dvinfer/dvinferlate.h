// SPDX-License-Identifier: Apache-2.0
// Frames that leave before their results, and where the results go.
#pragma once

#include "elements/dvinfer/dvinferstate.h"
#include "meta/viewmeta.h"

/// Returns whether a frame of those regions may leave before its results; notes by when, and whose
/// they are.
bool gst_dv_infer_may_leave(GstDvInfer* self, GstBuffer* frame, dvnn::gst::InferItem* item);
/// Fills the regions of such a frame for which there are slots, and leaves the others out.
dvnn::Status gst_dv_infer_fill_at_once(GstDvInfer* self, GstBuffer* frame,
                                       const dvnn::gst::FrameView& view,
                                       dvnn::gst::InferItem* item);
/// Adds late results to a frame that leaves, as regions of its own.
void gst_dv_infer_join_late(GstDvInfer* self, const dvnn::gst::InferRules& rules,
                            dvnn::gst::InferItem* item);
/// Drops late results, because they belong to no frame that will come.
void gst_dv_infer_forget_late(GstDvInfer* self);
