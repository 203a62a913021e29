// SPDX-License-Identifier: Apache-2.0
// One convolution in floats, of one thread: what it is, and what does it. oneDNN does all that its
// version can, a plain loop the rest.
#pragma once

#include <memory>

namespace dvnn::softdv {

/// One spatial axis of a convolution. `dilation` is the distance of taps; `before` and `after` are
/// zeros around the input, negative where inputs are left out.
struct ConvAxis {
  int in, out, kernel, stride, dilation, before, after;
};

/// A convolution of a picture (rows, columns, channels) with `out_channels` kernels, each of all
/// channels or, depthwise, of its own.
struct ConvShape {
  ConvAxis rows, columns;
  int in_channels, out_channels;
  bool depthwise;
};

/// What follows each sum: max(v, 0) + slope min(v, 0), if `on`.
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

/// Makes a convolution as a sum over taps, for shapes that nobody needs to be fast. `weights` are
/// (m, c, rows, columns), depthwise (m, rows, columns); they and `bias` are copied.
std::unique_ptr<Convolution> plain_convolution(const ConvShape& shape, ConvRelu relu,
                                               const float* weights, const float* bias);

}  // namespace dvnn::softdv
