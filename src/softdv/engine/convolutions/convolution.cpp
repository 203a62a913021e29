// SPDX-License-Identifier: Apache-2.0
#include "softdv/engine/convolutions/convolution.h"

#include "softdv/engine/convolutions/any_depthwise.h"
#include "softdv/engine/convolutions/depthwise.h"
#include "softdv/engine/convolutions/direct.h"
#include "softdv/engine/convolutions/transposed.h"
#include "softdv/engine/convolutions/winograd.h"

namespace dvnn::softdv {

std::unique_ptr<Convolution> make_convolution(const ConvShape& shape, const float* weights,
                                              const float* bias, bool pooled) {
  if (Depthwise::suits(shape)) return std::make_unique<Depthwise>(shape, weights, bias);
  if (shape.depthwise) return std::make_unique<AnyDepthwise>(shape, weights, bias, pooled);
  if (Transposed::suits(shape)) return std::make_unique<Transposed>(shape, weights, bias, pooled);
  if (Winograd::suits(shape)) return std::make_unique<Winograd>(shape, weights, bias, pooled);
  return std::make_unique<Direct>(shape, weights, bias, !pooled);
}

}  // namespace dvnn::softdv
