// SPDX-License-Identifier: Apache-2.0
// Resizes pictures in their own layout, from binary16 to binary16 in one pass: lines are converted,
// weighted and rounded while they are in the first-level cache.
#pragma once

#include <memory>
#include <vector>

#include "kernels/windows/windows.h"
#include "layers/cpu_layer.h"

namespace dvnn::layers {

/// The resampling of one axis: each result's elements and their weights.
struct AxisTaps {
  int in = 1, out = 1;
  std::vector<uint32_t> first = {0};
  std::vector<int32_t> from;
  std::vector<float> weights;
  std::vector<bool> outside;          // the result takes the extrapolation value
  std::vector<int32_t> pair_from[2];  // as kernels::LineTaps has them
  std::vector<float> pair_weights[2];
  bool changes = false;

  size_t elements() const { return static_cast<size_t>(in); }
  size_t results() const { return static_cast<size_t>(out); }
  /// The taps of the next result are complete.
  void end_result();
  kernels::LineTaps taps() const;
};

/// Creates a layer for pictures {N, C, H, W} of which only height and width change; null if it does
/// not support these tensors or filters. It sums one axis after the other.
std::unique_ptr<CpuLayer> make_picture_resize(const AxisTaps& height, const AxisTaps& width,
                                              const TensorDesc& input, const TensorDesc& output);

}  // namespace dvnn::layers
