// SPDX-License-Identifier: Apache-2.0
// Passes descriptions and messages to and from users' libraries of layers or decoders, in C
// (dvnn_layer.h).
#pragma once

#include <string>

#include "base/json_fwd.h"
#include "dvnn_layer.h"
#include "tensor/tensor.h"

namespace dvnn {

dvnn_shape shape_for_users(const TensorDesc& desc);

/// Returns parameters as text. Invalid UTF-8 does not throw.
std::string text_for_users(const Json& params);

/// Buffer for a library's message, which may lack a terminating zero.
struct UsersMessage {
  char text[512] = {};
  dvnn_message target = {text, sizeof text - 1};
  std::string said() const;
};

}  // namespace dvnn
