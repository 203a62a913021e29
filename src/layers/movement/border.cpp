// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/format.h"
#include "base/nth.h"
#include "layers/attributes/fields.h"
#include "layers/factories.h"
#include "layers/loops/floats.h"
#include "layers/loops/moves.h"
#include "tensor/tensor.h"

namespace dvnn::layers {
namespace {

constexpr const char* kBorderModes[] = {"constant", "edge", "reflect",
                                        "wrap"};  // in the enum's order

// Returns which element of an axis of `size` belongs at `at`, which may lie outside.
int place_of(int64_t at, int64_t size, BorderMode mode) {
  if (at >= 0 && at < size) return static_cast<int>(at);
  switch (mode) {
    case BorderMode::kConstant:
      return kOutside;
    case BorderMode::kEdge:
      return static_cast<int>(std::clamp<int64_t>(at, 0, size - 1));
    case BorderMode::kWrap:
      return static_cast<int>((at % size + size) % size);
    case BorderMode::kReflect:
      break;
  }
  if (size == 1) return 0;
  const int64_t period = 2 * (size - 1), turn = (at % period + period) % period;
  return static_cast<int>(std::min(turn, period - turn));
}

}  // namespace

void BorderAttributes::fields(Fields* f) {
  constexpr int64_t kMost = kMaxTensorElements;
  f->integers("before", &before, -kMost, kMost);
  f->integers("after", &after, -kMost, kMost);
  f->choice("mode", &mode, kBorderModes);
  f->number("value", &value);
}

DimsResult BorderAttributes::dims_after(Span<const Shape> inputs) const {
  DVNN_ASSIGN(auto dims, same_dims(inputs));
  if (before.size() != dims.size() || after.size() != dims.size()) {
    return unsupported(
        format("has borders of %zu axes for %s", before.size(), inputs[0].to_string().c_str()));
  }
  for (size_t i = 0; i < dims.size(); ++i) dims[i] += int64_t{before[i]} + after[i];
  return dims;
}

Cost BorderAttributes::cost(Span<const TensorDesc> in, Span<const TensorDesc> out) const {
  return float_layer_cost(in, out).keep_bytes(part_bytes(out)).keep_bytes(index_bytes(out));
}

LayerResult BorderAttributes::create(Span<const TensorDesc> inputs,
                                     Span<const TensorDesc> outputs) const {
  DVNN_TRY(expect_result(*this, 1, inputs, outputs));
  const Shape &shape = inputs[0].shape, &out = outputs[0].shape;
  AxisPlaces places(before.size());
  for (size_t i = 0; i < places.size(); ++i) {
    const int axis = static_cast<int>(i);
    for (int64_t k = 0; k < out[axis]; ++k) {
      places[i].push_back(place_of(k - before[i], shape[axis], mode));
    }
  }
  return make_places_layer(inputs, outputs[0], std::move(places), value);
}

}  // namespace dvnn::layers
