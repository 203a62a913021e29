// SPDX-License-Identifier: Apache-2.0
// From dvinfer's settings to a network that frames can be run on.
#pragma once

#include <memory>
#include <string>

#include "errors.h"
#include "gst/dvnn/gstdvtensormeta.h"
#include "infer/slotpool.h"
#include "meta/networkdesc.h"
#include "network/network.h"

namespace dvnn::gst {

/// What names a network. All may be empty: the installed network on the default device.
struct NetworkSettings {
  std::string path, weights, input_size, custom_layers, device;

  bool operator==(const NetworkSettings& other) const;
  bool operator!=(const NetworkSettings& other) const { return !(*this == other); }
};

/// A network and what goes with it. Frames in flight keep the one that they are run on.
struct LoadedNetwork {
  NetworkSettings settings;
  std::shared_ptr<network::Network> network;
  NetworkInfoPtr info;
  std::shared_ptr<SlotPool> pool;  // while frames may come
};

/// kCancelled soon after `cancellation` (may be null) is.
Result<std::shared_ptr<LoadedNetwork>> load_network(const NetworkSettings& settings,
                                                    const Cancellation* cancellation);

/// Makes the slots. kNoMemory or kDevice where device memory does not suffice for them.
Result<std::shared_ptr<SlotPool>> make_pool(const LoadedNetwork& loaded, const SlotCounts& counts,
                                            const Cancellation* cancellation);

/// What such an error is about: a file, or the settings.
Topic load_topic(const NetworkSettings& settings, const Error& error);

}  // namespace dvnn::gst
