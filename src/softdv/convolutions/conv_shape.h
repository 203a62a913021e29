// SPDX-License-Identifier: Apache-2.0
// A convolution's description, as its implementations take it.
#pragma once

namespace dvnn::softdv {

/// One spatial axis of a convolution. The source's `in` samples lie `gap` positions apart, with
/// zeros between them (1: side by side, as they do unless the convolution is transposed), after
/// `before` more zeros; a negative number leaves out the first positions instead. Taps are
/// `dilation` positions apart, and results `stride`.
struct ConvAxis {
  int in, out, kernel, stride, dilation, before, gap;
};

/// A convolution of an image (rows, columns, channels) with `out_channels` kernels. Each kernel has
/// all channels or, if the convolution is depthwise, one. Weights are (m, c, rows, columns), or (m,
/// rows, columns) if it is depthwise.
struct ConvShape {
  ConvAxis rows, columns;
  int in_channels, out_channels;
  bool depthwise;
};

}  // namespace dvnn::softdv
