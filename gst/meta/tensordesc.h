// SPDX-License-Identifier: Apache-2.0
// Tensors on frames, and their descriptions: ours and those of GstDvTensor.
#pragma once

#include <vector>

#include "base/result.h"
#include "gst/dvnn/gstdvtensormeta.h"
#include "image/view.h"
#include "tensor/tensor.h"

namespace dvnn::gst {

/// The metas with a network's outputs on a frame: one for each region that it was shown, in
/// the regions' order.
std::vector<GstDvTensorMeta*> outputs_of(const GstDvNetworkInfo* network, GstBuffer* frame);
/// The same into a list that the caller keeps.
void find_outputs(const GstDvNetworkInfo* network, GstBuffer* frame,
                  std::vector<GstDvTensorMeta*>* list);

/// Copies a description into a tensor of a meta.
void describe_tensor(const TensorDesc& desc, const char* name, GstDvTensor* tensor);

/// The description of a meta's tensor; kMalformed if its fields make no sense or its data are
/// shorter than they say.
Result<TensorDesc> tensor_desc(const GstDvTensor& tensor);

image::Transform from_public(const GstDvTransform& transform);
GstDvTransform to_public(const image::Transform& transform);

}  // namespace dvnn::gst
