// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/share.h"
#include "kernels/arithmetic/reductions.h"
#include "layers/attributes/fields.h"
#include "layers/factories.h"
#include "layers/loops/floats.h"

namespace dvnn::layers {

void LrnAttributes::fields(Fields* f) {
  constexpr int kMostChannels = 1 << 15;
  f->integer("size", &size, 1, kMostChannels);
  f->number("alpha", &alpha);
  f->number("beta", &beta);
  f->number("bias", &bias);
}

DimsResult LrnAttributes::dims_after(Span<const Shape> inputs) const {
  DVNN_TRY(expect_inputs(inputs, 1));
  if (inputs[0].rank < 2) return unsupported("needs channels");
  return same_dims(inputs);
}

Cost LrnAttributes::cost(Span<const TensorDesc> in, Span<const TensorDesc> out) const {
  return float_layer_cost(in, out, static_cast<uint64_t>(size));
}

LayerResult LrnAttributes::create(Span<const TensorDesc> inputs,
                                  Span<const TensorDesc> outputs) const {
  DVNN_TRY(expect_arity(inputs, 1, 1, outputs));
  DVNN_TRY(expect_same_elements(inputs[0], outputs[0]));
  const Shape& shape = inputs[0].shape;
  if (shape.rank < 2) return malformed("needs channels");
  return make_float_layer(
      inputs, outputs, [a = *this, split = split_at(shape, 1)](const float* const* in, float* out) {
        const auto window = static_cast<size_t>(a.size);
        const size_t before = (window - 1) / 2, after = window - 1 - before;
        const kernels::LocalResponse by = {a.bias, a.alpha / static_cast<float>(a.size), a.beta};
        // Channels of a task: the lines that they share stay in the cache.
        constexpr size_t kTaskChannels = 16, kLine = 1 << 10;
        const size_t channels = split.count, plane = split.inner;
        const size_t groups = (channels + kTaskChannels - 1) / kTaskChannels;
        const size_t lines = (plane + kLine - 1) / kLine;
        share(static_cast<int>(split.outer * groups * lines), [&](int task) {
          const auto i = static_cast<size_t>(task);
          const size_t at = i % lines * kLine, count = std::min(kLine, plane - at);
          const size_t begin = i / lines % groups * kTaskChannels;
          const size_t picture = i / lines / groups * channels * plane + at;
          for (size_t c = begin; c < std::min(channels, begin + kTaskChannels); ++c) {
            const size_t first = c - std::min(c, before), last = std::min(c + after, channels - 1);
            kernels::normalise_local(by, in[0] + picture + first * plane, plane, last - first + 1,
                                     in[0] + picture + c * plane, out + picture + c * plane, count);
          }
        });
      });
}

}  // namespace dvnn::layers
