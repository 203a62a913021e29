// SPDX-License-Identifier: Apache-2.0
// Slots of dvinfer's own, for frames that come without a dvconvert's.
#pragma once

#include "elements/dvinfer/dvinferstate.h"
#include "meta/viewmeta.h"

/// A slot for a region of `item`, waited for as slotpool.h says; null when the item is not wanted
/// any more, or where a frame that does not wait would have to.
dvnn::Result<dvnn::gst::SlotPtr> gst_dv_infer_own_slot(GstDvInfer* self,
                                                       const dvnn::gst::InferItem& item,
                                                       bool waits = true);
/// Sees to it that a region has a slot. It is waited for, as slotpool.h says, unless the frame may
/// leave before its results: without a slot, the region has none.
dvnn::Status gst_dv_infer_fill(GstDvInfer* self, GstBuffer* frame, const dvnn::gst::FrameView& view,
                               dvnn::gst::InferItem* item, size_t index);
