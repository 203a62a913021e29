// SPDX-License-Identifier: Apache-2.0
// Parts of tensors, and pictures with borders of zeros.
#include "base/nth.h"
#include "layers/attributes/fields.h"
#include "layers/factories.h"
#include "layers/loops/moves.h"

namespace dvnn::layers {

void SliceAttributes::fields(Fields* f) {
  constexpr int kMost = 1 << 28;
  f->integers("begin", &begin, 0, kMost);
  f->integers("step", &step, -kMost, kMost);
  f->integers("count", &count, -1, kMost, Shape::kMaxRank, !count.empty());
}

DimsResult SliceAttributes::dims_after(Span<const Shape> inputs) const {
  DVNN_TRY(expect_inputs(inputs, 1));
  const Shape& shape = inputs[0];
  const size_t rank = shape.axes();
  if (begin.size() != rank || step.size() != rank || count.size() != rank) {
    return unsupported("slices " + std::to_string(begin.size()) + " dimensions of " +
                       shape.to_string());
  }
  std::vector<int64_t> dims;
  for (size_t i = 0; i < rank; ++i) {
    const int64_t size = shape[static_cast<int>(i)], at = begin[i], by = step[i];
    const int64_t most = by > 0                ? (size - at + by - 1) / by
                         : by < 0 && at < size ? at / -by + 1
                                               : 0;
    dims.push_back(count[i] < 0 ? most : count[i]);
    if (at < 0 || dims.back() > most) {
      return unsupported("takes more than there is of " + shape.to_string());
    }
  }
  return dims;
}

Cost SliceAttributes::cost(Span<const TensorDesc> in, Span<const TensorDesc> out) const {
  return one_look(in, out).borrow_floats(elements_of(out)).keep_bytes(part_bytes(out));
}

LayerResult SliceAttributes::create(Span<const TensorDesc> inputs,
                                    Span<const TensorDesc> outputs) const {
  DVNN_TRY(expect_arity(inputs, 1, 1, outputs));
  const Shape &from = inputs[0].shape, &to = outputs[0].shape;
  const size_t rank = from.axes();
  bool fits = begin.size() == rank && step.size() == rank && to.rank == from.rank;
  for (int i = 0; fits && i < from.rank; ++i) {
    const int64_t last = nth(begin, i) + int64_t{to[i] - 1} * nth(step, i);
    fits = nth(begin, i) < from[i] && last >= 0 && last < from[i];
  }
  if (!fits) {
    return malformed("field 'begin' with step and the output " + to.to_string() +
                     " leaves the input " + from.to_string());
  }
  MovedPart part = whole_part(to);
  for (size_t i = 0; i < rank; ++i) {
    part.from[i] = begin[i];
    part.step[i] = step[i];
  }
  return make_move_layer(inputs[0], outputs[0], part);
}

void PadAttributes::fields(Fields* f) {
  constexpr int kMost = 1 << 15;
  f->integer("left", &left, 0, kMost);
  f->integer("right", &right, 0, kMost);
  f->integer("top", &top, 0, kMost);
  f->integer("bottom", &bottom, 0, kMost);
}

DimsResult PadAttributes::dims_after(Span<const Shape> inputs) const {
  DVNN_TRY(expect_inputs(inputs, 1));
  const Shape& shape = inputs[0];
  if (shape.rank != 4 || shape.n() != 1) return unsupported("needs a picture");
  return std::vector<int64_t>{1, shape.c(), int64_t{shape.h()} + top + bottom,
                              int64_t{shape.w()} + left + right};
}

Cost PadAttributes::cost(Span<const TensorDesc> in, Span<const TensorDesc> out) const {
  return one_look(in, out).keep_bytes(part_bytes(out));
}

LayerResult PadAttributes::create(Span<const TensorDesc> inputs,
                                  Span<const TensorDesc> outputs) const {
  DVNN_TRY(expect_arity(inputs, 1, 1, outputs));
  const Shape &from = inputs[0].shape, &to = outputs[0].shape;
  if (from.rank != 4 || to.rank != 4 || from.n() != 1 || to.n() != 1 || to.c() != from.c() ||
      to.w() != from.w() + left + right || to.h() != from.h() + top + bottom) {
    return malformed("field 'left' with the other sides does not make " + to.to_string() + " of " +
                     from.to_string());
  }
  MovedPart part = whole_part(from);
  part.to = {0, 0, top, left};
  auto layer = std::make_unique<MoveLayer>(inputs, outputs[0]);
  layer->add(0, part);
  layer->add_border(part.to, part.count, 0);
  return std::unique_ptr<CpuLayer>(std::move(layer));
}

}  // namespace dvnn::layers
