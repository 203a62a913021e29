// SPDX-License-Identifier: Apache-2.0
// Convolutions whose input does not fit the unified buffer, as a sum over its channels.
#pragma once

#include "device/limits.h"
#include "plan/passes/rewriter.h"

namespace dvnn::plan {

/// Replaces the convolution at `index` by convolutions of some chunks of its channels each, which
/// are read in place, and their sum, which the device adds up in binary16. Returns false, and
/// changes nothing, if no such parts fit the limits. Strips, which round once, come first where
/// they are possible; a dilated convolution's result must have its input's size, so it has none.
bool sum_over_channels(Rewriter* rewriter, size_t index, const device::Limits& limits);

}  // namespace dvnn::plan
