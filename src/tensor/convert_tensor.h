// SPDX-License-Identifier: Apache-2.0
// Converts tensors from one type and layout to another, because streams use other ones than the
// device.
#pragma once

#include <vector>

#include "tensor/tensor.h"

namespace dvnn {

/// Returns the simplest layout with the same order: kNwhc or kNhwc for kWhc8 or kHwc8 of a single
/// chunk.
Layout plain_layout(const TensorDesc& desc);

/// Converts `from` to `to`, a tensor of the same shape, with the values of write_nchw(). Fast for
/// floats in rows or columns of pixels. `scratch` grows as needed; a caller that keeps it allocates
/// only once.
void convert_tensor(const ConstTensorView& from, const TensorView& to, std::vector<float>* scratch);

}  // namespace dvnn
