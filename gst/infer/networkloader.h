// SPDX-License-Identifier: Apache-2.0
// Loads the network that dvinfer's settings name.
#pragma once

#include <memory>
#include <string>

#include "errors.h"
#include "gst/dvnn/gstdvtensormeta.h"
#include "infer/slotpool.h"
#include "meta/tensordesc.h"
#include "network/finite_watch.h"
#include "network/stream_memory.h"

namespace dvnn::gst {

/// The settings that name a network. If all are empty: the installed network on the default device.
struct NetworkSettings {
  std::string path, weights, input_size, custom_layers, device;

  bool operator==(const NetworkSettings& other) const;
  bool operator!=(const NetworkSettings& other) const { return !(*this == other); }
};

/// A network and its companions. Frames in flight keep the one that they run on.
struct LoadedNetwork {
  NetworkSettings settings;
  std::shared_ptr<network::Network> network;
  NetworkInfoPtr info;
  std::shared_ptr<SlotPool> pool;  // from READY on
  int64_t first_run_us = 0;        // duration of a trial run; 0: unknown
  network::FiniteWatch watch{};
  std::unique_ptr<network::StreamMemory> memory;  // the states of the element's stream
};
using LoadedPtr = std::shared_ptr<LoadedNetwork>;
using PoolPtr = std::shared_ptr<SlotPool>;

/// Loads the network. kCancelled soon after `cancellation` (may be null) is cancelled.
Result<LoadedPtr> load_network(const NetworkSettings& settings, const Cancellation* cancellation);

/// Creates the slots. kNoMemory or kDevice if device memory does not suffice for them.
Result<PoolPtr> make_pool(const LoadedNetwork& loaded, const SlotCounts& counts,
                          const Cancellation* cancellation);

/// Returns the topic of a loading error: a file, or the settings.
Topic load_topic(const NetworkSettings& settings, const Error& error);

}  // namespace dvnn::gst
