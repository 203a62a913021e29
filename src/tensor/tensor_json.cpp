// SPDX-License-Identifier: Apache-2.0
#include "tensor/tensor_json.h"

#include <algorithm>
#include <climits>

#include "base/format.h"
#include "base/json.h"

namespace dvnn {

Status check_shape(const Shape& shape) {
  if (shape.rank < 1 || shape.rank > Shape::kMaxRank) {
    return too_large(format("%d dimensions, not 1..%d", shape.rank, Shape::kMaxRank));
  }
  int64_t elements = 1;
  for (int i = 0; i < shape.rank; ++i) {
    if (shape[i] < 1) return malformed(format("dimension %d is %d, not positive", i, shape[i]));
    elements *= shape[i];  // both factors are below 2^31; checked before the next product
    if (elements > kMaxTensorElements) {
      return too_large(format("the number of elements is %lld, the limit is %lld",
                              static_cast<long long>(elements),
                              static_cast<long long>(kMaxTensorElements)));
    }
  }
  return {};
}

Json to_json(const TensorDesc& desc) {
  return {{"type", to_string(desc.type)},
          {"layout", to_string(desc.layout)},
          {"shape", std::vector<int>(desc.shape.dims, desc.shape.dims + desc.shape.rank)}};
}

TensorDesc read_desc(JsonReader* in) {
  TensorDesc desc;
  const std::string type = in->text("type"), layout = in->text("layout");
  const std::vector<int> dims = in->integers("shape", 1, INT_MAX, Shape::kMaxRank);
  if (!in->ok()) return desc;
  if (const auto parsed = parse_element_type(type); parsed.ok()) {
    desc.type = parsed.value();
  } else {
    in->fail("type", parsed.error().message);
  }
  if (const auto parsed = parse_layout(layout); parsed.ok()) {
    desc.layout = parsed.value();
  } else {
    in->fail("layout", parsed.error().message);
  }
  desc.shape.rank = static_cast<int>(dims.size());
  std::copy(dims.begin(), dims.end(), desc.shape.dims);
  if (const Status s = check_shape(desc.shape); !s.ok()) in->fail("shape", s.error().message);
  if (desc.layout != Layout::kNchw && desc.shape.rank != 4) {
    in->fail("layout", format("%s needs 4 dimensions, the shape is %s", to_string(desc.layout),
                              desc.shape.to_string().c_str()));
  }
  return desc;
}

}  // namespace dvnn
