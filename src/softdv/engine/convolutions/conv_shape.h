// SPDX-License-Identifier: Apache-2.0
// The description of a convolution that all implementations take.
#pragma once

#include <algorithm>
#include <cstddef>

#include "base/grid.h"

namespace dvnn::softdv {

/// One spatial axis of a convolution. The source's `in` samples lie `gap` positions apart, with
/// zeros between them (1: side by side, as they do unless the convolution is transposed), after
/// `before` more zeros; a negative number leaves out the first positions instead. Taps are
/// `dilation` positions apart, and results `stride`.
struct ConvAxis {
  int in, out, kernel, stride, dilation, before, gap;

  // None of these is negative: they are sizes of arrays, and steps within them.
  size_t inputs() const { return static_cast<size_t>(in); }
  size_t outputs() const { return static_cast<size_t>(out); }
  size_t taps() const { return static_cast<size_t>(kernel); }
  size_t result_step() const { return static_cast<size_t>(stride); }
  size_t tap_step() const { return static_cast<size_t>(dilation); }
};

/// Returns whether each result along an axis depends only on the source at its own place.
inline bool is_pointwise(const ConvAxis& axis) {
  return axis.kernel == 1 && axis.stride == 1 && axis.before == 0 && axis.in == axis.out &&
         axis.gap == 1;
}

/// A convolution of an image (rows, columns, channels) with `out_channels` kernels. Each kernel has
/// all channels or, if the convolution is depthwise, one. Weights are (m, c, rows, columns), or (m,
/// rows, columns) if it is depthwise.
struct ConvShape {
  ConvAxis rows, columns;
  int in_channels, out_channels;
  bool depthwise;

  size_t inputs() const { return static_cast<size_t>(in_channels); }
  size_t outputs() const { return static_cast<size_t>(out_channels); }
  size_t taps() const { return grid_size(columns.kernel, rows.kernel); }
  /// Elements before a chunk of the source, in the device's layout.
  size_t before_chunk(int chunk) const {
    return grid_size(columns.in, rows.in) * channels_before(chunk);
  }
  size_t chunk_channels(int chunk) const {
    return std::min(kChunkChannels, inputs() - channels_before(chunk));
  }

 private:
  static constexpr size_t kChunkChannels = 8;
  static size_t channels_before(int chunk) { return static_cast<size_t>(chunk) * kChunkChannels; }
};

}  // namespace dvnn::softdv
