// SPDX-License-Identifier: Apache-2.0
// The caps of dvinfer's pads: frames, or streams of tensors on either side.
#pragma once

#include "elements/dvinfer/dvinferstate.h"
#include "refs.h"

/// The caps of the sink pad (`sink`) or the source pad that the other side and the network allow.
/// The spelling of dimensions follows `filter`, which may be null. (transfer full)
GstCaps* gst_dv_infer_get_caps(GstDvInfer* self, bool sink, const GstCaps* filter);
/// Takes the sink pad's new caps and decides what leaves; kMalformed if they do not fit. `out` are
/// the caps of the source pad.
dvnn::Status gst_dv_infer_take_caps(GstDvInfer* self, GstCaps* caps, dvnn::gst::CapsPtr* out);
/// Answers a CAPS query of the sink pad (`sink`) or the source pad.
gboolean gst_dv_infer_answer_caps(GstDvInfer* self, GstQuery* query, bool sink);
/// The same for an ACCEPT_CAPS query of the sink pad.
gboolean gst_dv_infer_answer_accept_caps(GstDvInfer* self, GstQuery* query);
/// Switches to another network, given the sink pad's caps, or says why that is impossible. `out`
/// receives new caps of the source pad, or null if the caps stay.
dvnn::Status gst_dv_infer_take_swap(GstDvInfer* self, const dvnn::gst::LoadedNetwork& to,
                                    dvnn::gst::CapsPtr* out);
