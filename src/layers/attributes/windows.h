// SPDX-License-Identifier: Apache-2.0
// Layers that slide a window.
#pragma once

#include <cstdint>
#include <vector>

#include "layers/attributes/layer_type.h"
#include "tensor/tensor.h"

namespace dvnn::layers {

/// FP32 convolution, for cases that the device cannot do and for references.
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

/// Returns the number of windows along an axis. With `ceil`, a partial last window counts if it
/// starts inside the input or its leading pad.
inline int64_t count_windows(int64_t size, int64_t before, int64_t after, int64_t kernel,
                             int64_t stride, bool ceil) {
  const int64_t room = size + before + after - kernel;
  if (room < 0) return 0;
  int64_t n = (ceil ? (room + stride - 1) / stride : room / stride) + 1;
  if (ceil && (n - 1) * stride >= size + before) --n;
  return n;
}

/// Convolution for kernels and dilations beyond the device's limits: {kernel_w, kernel_h, stride_w,
/// stride_h, dilation_w, dilation_h, pad_left, pad_top, groups, transposed, weights: (m, c /
/// groups, y, x), bias: [one per output]}.
struct ConvolutionAttributes {
  DVNN_LAYER_TYPE("Convolution");
  ConvolutionParams params;
  std::vector<float> weights, bias;
};

/// {method: max|average, kernel_w, kernel_h, stride_w, stride_h, pad_w, pad_h, global}. Caffe's
/// rules: windows are clipped to the padded input; averages divide by the clipped window's size or,
/// with counts_pads false, by the size of its part inside the input.
struct PoolingAttributes {
  DVNN_LAYER_TYPE("Pooling");
  struct Axis {
    int kernel = 1, stride = 1, pad = 0;
  };
  bool average = false;
  Axis x, y;
  bool global = false;
  bool counts_pads = true;
};

/// Windows over all axes after the second: {operation: average|lp (p)|max|place (the maximum's
/// index in the whole input, its axes in order or `column_major`), kernel, stride, dilation,
/// before, after: [...] one per axis, ceil, counts_pads}. Source: ONNX AveragePool, LpPool,
/// MaxPool.
struct WindowPoolAttributes {
  DVNN_LAYER_TYPE("WindowPool");
  enum class Operation : uint8_t { kAverage, kLp, kMax, kPlace } operation = Operation::kMax;
  std::vector<int> kernel, stride, dilation, before, after;
  bool ceil = false, counts_pads = false, column_major = false;
  int p = 2;
};

}  // namespace dvnn::layers
