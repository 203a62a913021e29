// SPDX-License-Identifier: Apache-2.0
// Resizes pictures in the layout that they have, from binary16 to binary16 in one pass: lines are
// converted, weighed and rounded while they are in the first-level cache.
#pragma once

#include <memory>
#include <vector>

#include "kernels/windows/interpolate.h"
#include "layers/cpu_layer.h"

namespace dvnn::layers {

/// One axis: what each result weighs of which elements.
struct AxisTaps {
  int in = 1, out = 1;
  std::vector<uint32_t> first = {0};
  std::vector<int32_t> from;
  std::vector<float> weights;
  std::vector<bool> outside;          // the result is the value outside
  std::vector<int32_t> pair_from[2];  // as kernels::LineTaps has them
  std::vector<float> pair_weights[2];
  bool changes = false;

  size_t elements() const { return static_cast<size_t>(in); }
  size_t results() const { return static_cast<size_t>(out); }
  /// The taps of the next result are complete.
  void end_result();
  kernels::LineTaps taps() const;
};

/// The layer for pictures {N, C, H, W} whose height and width alone change; null if it does not
/// serve these tensors or filters. The sums are those of one axis after the other.
std::unique_ptr<CpuLayer> make_picture_resize(const AxisTaps& height, const AxisTaps& width,
                                              const TensorDesc& input, const TensorDesc& output);

}  // namespace dvnn::layers
