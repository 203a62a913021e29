// SPDX-License-Identifier: Apache-2.0
// dvinfer's networks: the one that it starts with, and those that replace it while it plays.
#pragma once

#include "elements/dvinfer/dvinferstate.h"

/// Posts why a network cannot be loaded; a cancelled load is not reported, because whoever
/// cancelled it knows.
void gst_dv_infer_fail_to_load(GstDvInfer* self, dvnn::gst::Topic topic, const dvnn::Error& error);
/// Loads what the settings name, makes its slots and tries a run, if it is not all there already.
/// Returns false once that was reported.
gboolean gst_dv_infer_open(GstDvInfer* self,
                           const std::shared_ptr<dvnn::Cancellation>& cancellation);
/// Lets go of what the device has to be told of. If it does not answer, a thread is left behind.
void gst_dv_infer_let_go(GstDvInfer* self, std::vector<std::shared_ptr<void>> held);
/// Waits for loads that are under way and lets go of the networks.
void gst_dv_infer_close(GstDvInfer* self);
/// Starts loading the network that was named while playing, if `specs` are about it and it is new.
void gst_dv_infer_follow_settings(GstDvInfer* self, guint count, GParamSpec** specs);
