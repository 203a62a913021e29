// SPDX-License-Identifier: Apache-2.0
// Tensors from one type and layout to another: streams have theirs, the device has its own.
#pragma once

#include <vector>

#include "tensor/tensor.h"

namespace dvnn {

/// The layout under its plainest name: those in chunks of channels are, where there is one chunk,
/// kNwhc and kNhwc.
Layout plain_layout(const TensorDesc& desc);

/// Writes `from` as `to`, a tensor of the same shape, with the values that write_nchw() would
/// write. Fast for floats in rows or columns of pixels. `scratch` is made as large as is needed,
/// so that who keeps it allocates once.
void convert_tensor(const ConstTensorView& from, const TensorView& to, std::vector<float>* scratch);

}  // namespace dvnn
