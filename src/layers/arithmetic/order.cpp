// SPDX-License-Identifier: Apache-2.0
// Sorting and running sums along one axis.
#include <algorithm>
#include <numeric>

#include "base/format.h"
#include "base/nth.h"
#include "base/numbers.h"
#include "layers/attributes/fields.h"
#include "layers/factories.h"
#include "layers/loops/floats.h"
#include "tensor/tensor.h"

namespace dvnn::layers {

void TopKAttributes::fields(Fields* f) {
  f->integer("axis", &axis, 0, Shape::kMaxRank - 1);
  f->integer("k", &k, 1, kMaxTensorElements);
  f->boolean("smallest", &smallest);
  f->boolean("places", &places);
}

DimsResult TopKAttributes::dims_after(Span<const Shape> inputs) const {
  DVNN_ASSIGN(auto dims, same_dims(inputs));
  DVNN_TRY(axes_or_all({axis}, inputs[0].rank));
  int64_t& along = nth(dims, axis);
  if (k > along) {
    return unsupported(format("wants %d elements of %lld", k, static_cast<long long>(along)));
  }
  along = k;
  return dims;
}

Cost TopKAttributes::cost(Span<const TensorDesc> in, Span<const TensorDesc> out) const {
  return float_layer_cost(in, out)
      .keep_floats(saturating_sum(elements_of(in), elements_of(out)))  // element offsets
      .keep_floats(elements_of(in));  // the sorted indices of one group
}

LayerResult TopKAttributes::create(Span<const TensorDesc> inputs,
                                   Span<const TensorDesc> outputs) const {
  DVNN_TRY(expect_result(*this, 1, inputs, outputs));
  const Shape &shape = inputs[0].shape, &out = outputs[0].shape;
  Groups from = group_along(shape, {axis}), to = group_along(out, {axis});
  std::vector<uint32_t> order(from.inner.size());
  return make_float_layer(
      inputs, outputs,
      [from = std::move(from), to = std::move(to), order = std::move(order), places = places,
       sign = smallest ? -1.0f : 1.0f](const float* const* in, float* result) mutable {
        for (size_t g = 0; g < from.outer.size(); ++g) {
          const float* group = in[0] + from.outer[g];
          std::iota(order.begin(), order.end(), 0u);
          auto before = [&](uint32_t a, uint32_t b) {
            const float x = sign * group[from.inner[a]], y = sign * group[from.inner[b]];
            // NaN comes last, so that this is a strict weak order.
            if (x != x || y != y) return x == x || (y != y && a < b);
            return x > y || (x == y && a < b);
          };
          std::partial_sort(order.begin(), order.begin() + static_cast<ptrdiff_t>(to.inner.size()),
                            order.end(), before);
          for (size_t i = 0; i < to.inner.size(); ++i) {
            result[to.outer[g] + to.inner[i]] =
                places ? static_cast<float>(order[i]) : group[from.inner[order[i]]];
          }
        }
      });
}

void CumSumAttributes::fields(Fields* f) {
  f->integer("axis", &axis, 0, Shape::kMaxRank - 1);
  f->boolean("exclusive", &exclusive);
  f->boolean("reverse", &reverse);
}

DimsResult CumSumAttributes::dims_after(Span<const Shape> inputs) const {
  DVNN_TRY(expect_inputs(inputs, 1));
  DVNN_TRY(axes_or_all({axis}, inputs[0].rank));
  return same_dims(inputs);
}

Cost CumSumAttributes::cost(Span<const TensorDesc> in, Span<const TensorDesc> out) const {
  return float_layer_cost(in, out).keep_floats(elements_of(in));  // offsets of elements
}

LayerResult CumSumAttributes::create(Span<const TensorDesc> inputs,
                                     Span<const TensorDesc> outputs) const {
  DVNN_TRY(expect_arity(inputs, 1, 1, outputs));
  DVNN_TRY(expect_same_elements(inputs[0], outputs[0]));
  DVNN_TRY(axes_or_all({axis}, inputs[0].shape.rank));
  Groups groups = group_along(inputs[0].shape, {axis});
  if (reverse) std::reverse(groups.inner.begin(), groups.inner.end());
  return make_float_layer(
      inputs, outputs,
      [groups = std::move(groups), exclusive = exclusive](const float* const* in, float* result) {
        for (uint32_t first : groups.outer) {
          double sum = 0;
          for (uint32_t at : groups.inner) {
            const auto x = static_cast<double>(in[0][first + at]);
            result[first + at] = static_cast<float>(exclusive ? sum : sum + x);
            sum += x;
          }
        }
      });
}

}  // namespace dvnn::layers
