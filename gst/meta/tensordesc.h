// SPDX-License-Identifier: Apache-2.0
// Conversion between our descriptions of networks and tensors and those that metas carry.
#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "gst/dvnn/gstdvnetworkinfo.h"
#include "gst/dvnn/gstdvtensormeta.h"
#include "image/view.h"
#include "network/model.h"
#include "tensor/tensor.h"

namespace dvnn::gst {

struct UnrefNetworkInfo {
  void operator()(GstDvNetworkInfo* info) const { gst_dv_network_info_unref(info); }
};
using NetworkInfoPtr = std::unique_ptr<GstDvNetworkInfo, UnrefNetworkInfo>;

/// The name, decoder and labels of a model.
NetworkInfoPtr describe_network(const network::Model& model);

/// Returns the metas with a network's outputs on a frame: one for each region, in their order.
std::vector<GstDvTensorMeta*> outputs_of(const GstDvNetworkInfo* network, GstBuffer* frame);
/// Replaces `list` by them, and keeps its memory.
void find_outputs(const GstDvNetworkInfo* network, GstBuffer* frame,
                  std::vector<GstDvTensorMeta*>* list);

/// Copies a description into a tensor of a meta.
void describe_tensor(const TensorDesc& desc, const char* name, GstDvTensor* tensor);

/// Returns the description of a meta's tensor; kMalformed if its fields contradict each other or
/// its data are too short.
Result<TensorDesc> tensor_desc(const GstDvTensor& tensor);
/// Returns a copy of the elements of a tensor that has this description. kMalformed if its memory
/// cannot be read.
Result<std::vector<uint8_t>> read_bytes(const GstDvTensor& tensor, const TensorDesc& desc);

image::Transform from_public(const GstDvTransform& transform);
GstDvTransform to_public(const image::Transform& transform);

}  // namespace dvnn::gst
