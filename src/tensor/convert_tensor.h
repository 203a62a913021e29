// SPDX-License-Identifier: Apache-2.0
// Converts tensors from one type and layout to another: streams have their own, and so has the
// device.
#pragma once

#include <vector>

#include "tensor/tensor.h"

namespace dvnn {

/// The plainest name of a layout: with a single chunk, kWhc8 and kHwc8 are kNwhc and kNhwc.
Layout plain_layout(const TensorDesc& desc);

/// Writes `from` as `to`, a tensor of the same shape, with the values that write_nchw() would
/// write. Fast for floats in rows or columns of pixels. `scratch` grows to the size that is needed,
/// so a caller that keeps it allocates once.
void convert_tensor(const ConstTensorView& from, const TensorView& to, std::vector<float>* scratch);

}  // namespace dvnn
