// SPDX-License-Identifier: Apache-2.0
// Descriptions of tensors, ours and those of GstDvTensor.
#pragma once

#include "base/result.h"
#include "gst/dvnn/gstdvtensormeta.h"
#include "image/view.h"
#include "tensor/tensor.h"

namespace dvnn::gst {

/// Copies a description into a tensor of a meta.
void describe_tensor(const TensorDesc& desc, const char* name, GstDvTensor* tensor);

/// The description of a meta's tensor; kMalformed if its fields make no sense or its data are
/// shorter than they say.
Result<TensorDesc> tensor_desc(const GstDvTensor& tensor);

image::Transform from_public(const GstDvTransform& transform);
GstDvTransform to_public(const image::Transform& transform);

}  // namespace dvnn::gst
