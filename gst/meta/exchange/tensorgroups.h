// SPDX-License-Identifier: Apache-2.0
// The tensors that decoders ask for in the field 'tensors' of their caps (GStreamer >= 1.28): a
// structure 'tensorgroups' whose fields are groups, each a unique list of the 'tensor/strided' caps
// that the decoder wants on every frame. With an older GStreamer nobody asks, and these functions
// do nothing.
#pragma once

#include <gst/gst.h>

#include <vector>

#include "network/model.h"
#include "refs.h"

namespace dvnn::gst {

/// The caps of each tensor that a network with `model` attaches to a frame when it is asked to:
/// its outputs as row-major float32, and of a network that detects what ssdobjectdetector reads.
/// A dimension of 0 varies.
std::vector<CapsPtr> attachable_tensors(const network::Model& model);

/// Adds to the `caps` of frames the groups that `beyond` asks for and `attachable` fills.
CapsPtr announce_tensor_groups(CapsPtr caps, const GstCaps* beyond,
                               const std::vector<CapsPtr>& attachable);

/// Removes those groups from the caps `beyond`, because no upstream element needs to bring them.
CapsPtr without_tensor_groups(CapsPtr beyond, const std::vector<CapsPtr>& attachable);

/// Returns whether caps of frames name groups.
bool has_tensor_groups(const GstCaps* caps);

}  // namespace dvnn::gst
