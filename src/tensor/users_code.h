// SPDX-License-Identifier: Apache-2.0
// Exchanges descriptions and messages with users' libraries of layers or decoders, in C
// (dvnn_layer.h).
#pragma once

#include <string>

#include "base/json_fwd.h"
#include "dvnn_layer.h"
#include "tensor/tensor.h"

namespace dvnn {

dvnn_shape shape_for_users(const TensorDesc& desc);

/// Parameters as text. Bytes that are no UTF-8 do not throw.
std::string text_for_users(const Json& params);

/// The buffer that a library writes its message to, perhaps without a terminating zero.
struct UsersMessage {
  char text[512] = {};
  dvnn_message target = {text, sizeof text - 1};
  std::string said() const;
};

}  // namespace dvnn
