// SPDX-License-Identifier: Apache-2.0
// The meaning of a network's outputs, in the form that metas carry.
#pragma once

#include <memory>

#include "gst/dvnn/gstdvnetworkinfo.h"
#include "network/model.h"

namespace dvnn::gst {

struct UnrefNetworkInfo {
  void operator()(GstDvNetworkInfo* info) const { gst_dv_network_info_unref(info); }
};
using NetworkInfoPtr = std::unique_ptr<GstDvNetworkInfo, UnrefNetworkInfo>;

/// The name, decoder and labels of a model.
NetworkInfoPtr describe_network(const network::Model& model);

}  // namespace dvnn::gst
