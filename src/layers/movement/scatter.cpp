// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/nth.h"
#include "layers/attributes/fields.h"
#include "layers/factories.h"
#include "layers/loops/floats.h"

namespace dvnn::layers {
namespace {

using Scattered = ScatterAttributes::Operation;
constexpr const char* kScatteredNames[] = {"set", "add", "mul", "max", "min"};

void combine(Scattered operation, const float* update, size_t count, float* at) {
  for (size_t i = 0; i < count; ++i) {
    switch (operation) {
      case Scattered::kSet:
        at[i] = update[i];
        break;
      case Scattered::kAdd:
        at[i] += update[i];
        break;
      case Scattered::kMul:
        at[i] *= update[i];
        break;
      case Scattered::kMax:
        at[i] = std::max(at[i], update[i]);
        break;
      case Scattered::kMin:
        at[i] = std::min(at[i], update[i]);
        break;
    }
  }
}

}  // namespace

void ScatterAttributes::fields(Fields* f) {
  f->choice("operation", &operation, kScatteredNames);
}

DimsResult ScatterAttributes::dims_after(Span<const Shape> inputs) const {
  DVNN_TRY(expect_inputs(inputs, 3));
  const Shape &in = inputs[0], &places = inputs[1], &updates = inputs[2];
  if (in.rank > 0 && in[0] > 0 &&
      updates.elements() == places.elements() * (in.elements() / in[0])) {
    return same_dims(inputs);
  }
  return unsupported(updates.to_string() + " at " + places.to_string() + " places do not fit " +
                     in.to_string());
}

Cost ScatterAttributes::cost(Span<const TensorDesc> in, Span<const TensorDesc> out) const {
  return float_layer_cost(in, out);
}

LayerResult ScatterAttributes::create(Span<const TensorDesc> inputs,
                                      Span<const TensorDesc> outputs) const {
  DVNN_TRY(expect_result(*this, 3, inputs, outputs));
  const Shape& shape = inputs[0].shape;
  const auto rows = static_cast<float>(shape[0]);
  const size_t all = shape.count();
  const size_t inner = all / shape.extent(0);
  const size_t places = inputs[1].shape.count();
  return make_float_layer(
      inputs, outputs,
      [rows, all, inner, places, operation = operation](const float* const* in, float* result) {
        std::copy(in[0], in[0] + all, result);
        for (size_t p = 0; p < places; ++p) {
          const float place = in[1][p] < 0 ? in[1][p] + rows : in[1][p];
          if (!(place >= 0 && place < rows)) continue;  // NaN is no index either
          combine(operation, in[2] + p * inner, inner, result + static_cast<size_t>(place) * inner);
        }
      });
}

}  // namespace dvnn::layers
