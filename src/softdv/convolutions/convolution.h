// SPDX-License-Identifier: Apache-2.0
// One convolution in floats on one thread: its description, and its implementations. oneDNN does
// all that its version can; a plain loop does the rest.
#pragma once

#include <memory>

namespace dvnn::softdv {

/// One spatial axis of a convolution. `dilation` is the distance of taps. `before` and `after`
/// count zeros around the input; negative ones leave inputs out.
struct ConvAxis {
  int in, out, kernel, stride, dilation, before, after;
};

/// A convolution of an image (rows, columns, channels) with `out_channels` kernels. Each kernel has
/// all channels or, if the convolution is depthwise, one.
struct ConvShape {
  ConvAxis rows, columns;
  int in_channels, out_channels;
  bool depthwise;
};

/// If `on`, each sum v becomes max(v, 0) + slope min(v, 0).
struct ConvRelu {
  bool on;
  float slope;
};

class Convolution {
 public:
  virtual ~Convolution() = default;
  /// `source` and `result` are (rows, columns, channels). One call at a time.
  virtual void execute(const float* source, float* result) = 0;
};

/// A convolution as a sum over taps, for shapes that need not be fast. `weights` are (m, c, rows,
/// columns), or (m, rows, columns) if depthwise; they and `bias` are copied.
std::unique_ptr<Convolution> plain_convolution(const ConvShape& shape, ConvRelu relu,
                                               const float* weights, const float* bias);

}  // namespace dvnn::softdv
