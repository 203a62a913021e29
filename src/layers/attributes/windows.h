// SPDX-License-Identifier: Apache-2.0
// Layers that slide a window.
#pragma once

#include <cstdint>
#include <vector>

#include "layers/attributes/layer_type.h"
#include "layers/windows/convolution.h"

namespace dvnn::layers {

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
/// groups, y, x), bias: [one per output]}; convolution.h.
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
