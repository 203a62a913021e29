// SPDX-License-Identifier: Apache-2.0
#include "layers/attributes/fields.h"
#include "layers/factories.h"
#include "layers/loops/moves.h"

namespace dvnn::layers {

void PermuteAttributes::fields(Fields* f) {
  f->integers("order", &order, 0, Shape::kMaxRank - 1);
}

DimsResult PermuteAttributes::dims_after(Span<const Shape> inputs) const {
  DVNN_TRY(expect_inputs(inputs, 1));
  const Shape& shape = inputs[0];
  unsigned seen = 0;
  for (int axis : order) seen |= 1u << axis;
  if (static_cast<int>(order.size()) != shape.rank || seen + 1 != 1u << shape.rank) {
    return unsupported("the order does not name each axis of " + shape.to_string() + " once");
  }
  std::vector<int64_t> dims;
  for (int axis : order) dims.push_back(shape[axis]);
  return dims;
}

Cost PermuteAttributes::cost(Span<const TensorDesc> in, Span<const TensorDesc> out) const {
  return one_look(in, out);
}

LayerResult PermuteAttributes::create(Span<const TensorDesc> inputs,
                                      Span<const TensorDesc> outputs) const {
  DVNN_TRY(expect_arity(inputs, 1, 1, outputs));
  const Shape &from = inputs[0].shape, &to = outputs[0].shape;
  DVNN_ASSIGN(const auto dims, dims_after({&from, 1}));
  if (dims != std::vector<int64_t>(to.dims, to.dims + to.rank)) {
    return malformed("the output's shape " + to.to_string() + " is not the permuted " +
                     from.to_string());
  }
  MovedPart part = whole_part(to);
  for (size_t i = 0; i < order.size(); ++i) part.follows[i] = order[i];
  return make_move_layer(inputs[0], outputs[0], part);
}

}  // namespace dvnn::layers
