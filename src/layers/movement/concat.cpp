// SPDX-License-Identifier: Apache-2.0
#include "base/format.h"
#include "base/nth.h"
#include "layers/attributes/fields.h"
#include "layers/factories.h"
#include "layers/loops/moves.h"

namespace dvnn::layers {

void ConcatAttributes::fields(Fields* f) {
  f->integer("axis", &axis, 0, Shape::kMaxRank - 1);
}

DimsResult ConcatAttributes::dims_after(Span<const Shape> inputs) const {
  DVNN_ASSIGN(auto dims, same_dims(inputs));
  const Shape& first = inputs[0];
  if (axis >= first.rank) return unsupported("the axis does not exist in " + first.to_string());
  nth(dims, axis) = 0;
  for (Shape shape : inputs) {
    const std::string text = shape.to_string();
    if (shape.rank == first.rank) {
      nth(dims, axis) += shape[axis];
      shape[axis] = first[axis];
    }
    if (shape != first) {
      return unsupported(text + " does not fit " + first.to_string() +
                         format(" along axis %d", axis));
    }
  }
  return dims;
}

Cost ConcatAttributes::cost(Span<const TensorDesc> in, Span<const TensorDesc> out) const {
  return one_look(in, out);
}

LayerResult ConcatAttributes::create(Span<const TensorDesc> inputs,
                                     Span<const TensorDesc> outputs) const {
  constexpr size_t kMaxInputs = 4096;
  DVNN_TRY(expect_arity(inputs, 1, kMaxInputs, outputs));
  const Shape& shape = outputs[0].shape;
  int sum = 0;
  for (const TensorDesc& input : inputs) {
    bool fits = input.shape.rank == shape.rank && axis < shape.rank;
    for (int i = 0; fits && i < shape.rank; ++i) fits = i == axis || input.shape[i] == shape[i];
    if (!fits) {
      return malformed("input shape " + input.shape.to_string() + " does not fit the output's " +
                       shape.to_string());
    }
    sum += input.shape[axis];
  }
  if (sum != shape[axis]) return malformed("the inputs do not fill the output's axis");
  auto layer = std::make_unique<MoveLayer>(inputs, outputs[0]);
  int at = 0;  // along the axis
  for (size_t i = 0; i < inputs.size(); ++i) {
    MovedPart part = whole_part(inputs[i].shape);
    nth(part.to, axis) = at;
    layer->add(i, part);
    at += inputs[i].shape[axis];
  }
  return std::unique_ptr<CpuLayer>(std::move(layer));
}

}  // namespace dvnn::layers
