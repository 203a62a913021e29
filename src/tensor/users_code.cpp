// SPDX-License-Identifier: Apache-2.0
#include "tensor/users_code.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/format.h"

namespace dvnn {

dvnn_shape shape_for_users(const TensorDesc& desc) {
  dvnn_shape shape = {};
  shape.rank = desc.shape.rank;
  std::copy(desc.shape.dims, desc.shape.dims + desc.shape.rank, shape.dims);
  return shape;
}

std::string text_for_users(const nlohmann::json& params) {
  return params.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string UsersMessage::said() const {
  return *text ? printable(text) : "it gives no reason";
}

}  // namespace dvnn
