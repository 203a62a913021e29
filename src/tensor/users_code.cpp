// SPDX-License-Identifier: Apache-2.0
#include "tensor/users_code.h"

#include <algorithm>

#include "base/format.h"
#include "base/json.h"

namespace dvnn {

dvnn_shape shape_for_users(const TensorDesc& desc) {
  dvnn_shape shape = {};
  shape.rank = desc.shape.rank;
  std::copy(desc.shape.dims, desc.shape.dims + desc.shape.rank, shape.dims);
  return shape;
}

std::string text_for_users(const Json& params) {
  return json_text(params);
}

std::string UsersMessage::said() const {
  return *text ? printable(text) : "it gives no reason";
}

}  // namespace dvnn
