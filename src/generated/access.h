// SPDX-License-Identifier: Apache-2.0
// Functions of a generated network that dvinfer needs beyond its public interface. libdmp_network
// exports them, as all generated code is linked to it, but under a private symbol version of this
// release (dmp_network.map.in), as our own classes are passed through them.
#pragma once

#include "generated/runtime.h"

namespace dvnn::generated {

struct __attribute__((visibility("default"))) Access {
  /// Initialises `network` on an open device. `weights` are those of another instance, or null.
  static Status initialize(CDMP_Network* network, std::shared_ptr<device::Device> device,
                           std::shared_ptr<device::Memory> weights);
  /// Does the work of Commit().
  static Status make_lists(CDMP_Network* network);
  static Status load_weights(CDMP_Network* network, const uint8_t* data, size_t size);
  static Status commit(CDMP_Network* network);
  static Status run(CDMP_Network* network, Times* times);
  static const Runtime& runtime(const CDMP_Network& network);
  static const std::vector<fpga_layer>& layers(const CDMP_Network& network);
  static const std::vector<fpga_layer*>& outputs(const CDMP_Network& network);
};

}  // namespace dvnn::generated
