// SPDX-License-Identifier: Apache-2.0
// What dvinfer's workers do with a region.
#pragma once

#include "elements/dvinfer/dvinferstate.h"

/// Runs a region of an item and takes its outputs: what workers do.
dvnn::Status gst_dv_infer_run(GstDvInfer* self, dvnn::gst::InferItem* item, size_t region);
