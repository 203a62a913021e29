// SPDX-License-Identifier: Apache-2.0
// The tensors that decoders ask for in the field 'tensors' of their caps (GStreamer >= 1.28): a
// structure 'tensorgroups' whose fields are groups, each a unique list of the 'tensor/strided' caps
// that the decoder wants on every frame. No decoder asks with an older GStreamer, and these
// functions do nothing there.
#pragma once

#include <gst/gst.h>

#include <vector>

#include "network/model.h"
#include "refs.h"

namespace dvnn::gst {

/// Returns the caps of each tensor that dvinfer can attach for `model`: its outputs as row-major
/// float32 and, if it detects, those that ssdobjectdetector reads. A dimension of 0 varies.
std::vector<CapsPtr> attachable_tensors(const network::Model& model);

/// Adds to `caps` of frames those groups of `beyond` that `attachable` fills.
CapsPtr announce_tensor_groups(CapsPtr caps, const GstCaps* beyond,
                               const std::vector<CapsPtr>& attachable);

/// Removes those groups from the caps `beyond`, because upstream need not bring them.
CapsPtr without_tensor_groups(CapsPtr beyond, const std::vector<CapsPtr>& attachable);

/// Returns whether caps of frames name groups.
bool has_tensor_groups(const GstCaps* caps);

}  // namespace dvnn::gst
