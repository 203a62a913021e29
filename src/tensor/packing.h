// SPDX-License-Identifier: Apache-2.0
// The device's packed weight streams. Every byte position that the convolution block expects is
// defined here and nowhere else.
//
// Weights come in (m, c, ky, kx) order: float16 bits, or one table index per weight if quantised.
// Kernels are 1..7 wide and high; the stream holds them as p x p with p = max(kx, ky) | 1.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/half.h"

namespace dvnn {

/// The weights of a convolution as its packed stream needs them.
struct PackedGeometry {
  int m = 0;               // output channels
  int c = 0;               // input channels of one kernel (1 for depthwise)
  int kx = 0, ky = 0;      // kernel size, 1..7
  bool quantised = false;  // one byte per weight, with a 256-entry float16 table in front
  bool prelu = false;      // a float16 slope per output channel follows each bias group
  bool dilated = false;    // one 1x1 pass per kernel tap

  // Products of these numbers, as sizes of arrays.
  size_t outputs() const { return static_cast<size_t>(m); }
  size_t inputs() const { return static_cast<size_t>(c); }
  size_t kernels() const { return outputs() * inputs(); }
  size_t taps() const { return static_cast<size_t>(kx) * static_cast<size_t>(ky); }
  size_t weights() const { return kernels() * taps(); }
};

/// Returns the size of the stream in bytes, a multiple of 16.
size_t packed_weights_size(const PackedGeometry& geometry);

/// Contents of a stream. `table` has 256 entries; it is null unless the weights are quantised.
/// `weights` points to half_t or, if quantised, to uint8_t. `bias` and `prelu` have m entries; null
/// means zeros.
struct WeightSource {
  const half_t* table = nullptr;
  const void* weights = nullptr;
  const half_t* bias = nullptr;
  const half_t* prelu = nullptr;
};

/// Writes the stream to `out`, which has packed_weights_size() bytes. The source must have the
/// geometry's number of values, and kernels are at most 7 x 7.
void pack_weights(const PackedGeometry& geometry, const WeightSource& source, uint8_t* out);

/// Reads a stream back: `weights` gets m*c*ky*kx floats in (m, c, ky, kx) order, `bias` m floats,
/// `prelu` m floats if the stream has them (each may be null).
void unpack_weights(const PackedGeometry& geometry, const uint8_t* packed, float* weights,
                    float* bias, float* prelu);

/// Returns the size of the fully connected block's stream: [table], weights (m x c, in the order of
/// the buffers), bias, each padded to 16 bytes. Uses m, c and quantised of `geometry`.
size_t packed_fc_size(const PackedGeometry& geometry);

/// A fully connected layer between two tensors.
struct FcGeometry {
  int ci = 0, hi = 0, wi = 0, co = 0, ho = 0, wo = 0;
  bool quantised = false;
};

/// Writes the stream (packed_fc_size() bytes). Weights are given in (co, ho, wo, ci, hi, wi) order
/// and reordered to the buffers' kWhc8 on both sides; the bias is copied.
void pack_fc(const FcGeometry& geometry, const WeightSource& source, uint8_t* out);

/// Reads a stream back: m*c weights in the buffers' order, m biases.
void unpack_fc(const PackedGeometry& geometry, const uint8_t* packed, float* weights, float* bias);

}  // namespace dvnn
