// SPDX-License-Identifier: Apache-2.0
// The small network as a library for dvinfer, with its custom layer.
#include "small_network.h"

void custom_callback_Double(fpga_layer& layer, void* custom_param) {
  const auto* param = static_cast<const custom_param_Double*>(custom_param);
  std::vector<float> values;
  get_layer_input(layer, values);
  for (float& v : values) v *= param->factor;
  put_layer_output(layer, values, true);
}

DVNN_NETWORK(CSmall)
