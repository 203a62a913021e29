// SPDX-License-Identifier: Apache-2.0
// FP32 convolution, for cases that the device cannot do and for references.
#pragma once

#include <vector>

#include "tensor/tensor.h"

namespace dvnn::layers {

struct ConvolutionParams {
  int groups = 1;
  int kernel_x = 1, kernel_y = 1, stride_x = 1, stride_y = 1, dilation_x = 1, dilation_y = 1;
  int left = 0, top = 0;    // pads; those on the other sides follow from the output's size
  bool transposed = false;  // stride - 1 zeros between the pixels, then a convolution of stride 1
};

/// Packs weights and biases for convolve(). `weights` are (outputs, channels / groups, y, x),
/// `bias` one per output. `groups` divides both channel counts.
std::vector<float> pack_convolution(const ConvolutionParams& params, const float* weights,
                                    const float* bias, const Shape& in_shape,
                                    const Shape& out_shape);
/// Convolves pictures {1, C, H, W}, row-major, from `in` to `out`.
void convolve(const ConvolutionParams& params, const float* packed, const float* in,
              const Shape& in_shape, const Shape& out_shape, float* out);

}  // namespace dvnn::layers
