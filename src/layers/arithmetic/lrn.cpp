// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "layers/factories.h"
#include "layers/float_layer.h"

namespace dvnn::layers {

Result<LrnAttributes> LrnAttributes::parse(const nlohmann::json& params) {
  constexpr int kMostChannels = 1 << 15;
  JsonReader in(params, kName);
  LrnAttributes a;
  a.size = static_cast<int>(in.integer("size", 1, kMostChannels, 5));
  a.alpha = static_cast<float>(in.number("alpha", 1e-4));
  a.beta = static_cast<float>(in.number("beta", 0.75));
  a.bias = static_cast<float>(in.number("bias", 1));
  DVNN_TRY(in.status());
  return a;
}

nlohmann::json LrnAttributes::to_json() const {
  return {{"size", size}, {"alpha", alpha}, {"beta", beta}, {"bias", bias}};
}

DimsResult LrnAttributes::dims_after(Span<const Shape> inputs) const {
  DVNN_TRY(expect_inputs(inputs, 1));
  if (inputs[0].rank < 2) return Error{ErrorCode::kUnsupported, "needs channels"};
  return same_dims(inputs);
}

LayerResult LrnAttributes::create(Span<const TensorDesc> inputs,
                                  Span<const TensorDesc> outputs) const {
  DVNN_TRY(expect_arity(inputs, 1, 1, outputs));
  DVNN_TRY(expect_same_elements(inputs[0], outputs[0]));
  const Shape& shape = inputs[0].shape;
  if (shape.rank < 2) return Error{ErrorCode::kMalformed, "needs channels"};
  return make_float_layer(
      inputs, outputs, [a = *this, split = split_at(shape, 1)](const float* const* in, float* out) {
        const auto channels = static_cast<int64_t>(split.count);
        const auto plane = static_cast<int64_t>(split.inner);
        const int before = (a.size - 1) / 2, after = a.size - 1 - before;
        const float factor = a.alpha / static_cast<float>(a.size);
        const float* picture = in[0];
        for (size_t n = 0; n < split.outer; ++n, picture += channels * plane) {
          for (int64_t c = 0; c < channels; ++c, out += plane) {
            std::fill(out, out + plane, 0.0f);
            const int64_t last = std::min(c + after, channels - 1);
            for (int64_t k = std::max<int64_t>(c - before, 0); k <= last; ++k) {
              const float* of = picture + k * plane;
              for (int64_t i = 0; i < plane; ++i) out[i] += of[i] * of[i];
            }
            const float* own = picture + c * plane;
            for (int64_t i = 0; i < plane; ++i) {
              out[i] = own[i] * std::pow(a.bias + factor * out[i], -a.beta);
            }
          }
        }
      });
}

}  // namespace dvnn::layers
