// SPDX-License-Identifier: Apache-2.0
// Vector code that converts u8 samples to tensor elements: normalisation, rounding, channel order.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/input_spec.h"
#include "tensor/tensor.h"

namespace dvnn::image {

/// Conversion of a sample to an element: (level - mean) * scale, stored as integers (uint8, int8)
/// by value * steps + zero_point, rounded to nearest and clamped.
struct ElementRule {
  /// `channels`: 1 (gray bytes) or 3 (pixels, see vectors.h).
  ElementRule(ElementType type, int channels, const InputSpec& picture);
  ElementRule() = default;
  /// Writes the element of a sample in the tensor's channel `channel`, element_size(type) bytes.
  void put(int level, int channel, uint8_t* to) const;

  ElementType type = ElementType::kFloat16;
  int channels = 3;
  bool bgr = false;  // whether the tensor's first channel is blue
  float steps = 1, zero_point = 0;
  // Number of consecutive elements, with interleaved channels, after which the pattern repeats.
  static constexpr size_t kPattern = 48;
  alignas(64) float mean[kPattern] = {}, scale[kPattern] = {};
  // Set if all channels have the same rule: the bytes of each sample's FP16 element, for lookup.
  bool has_halves = false;
  alignas(64) uint8_t half_low[256] = {}, half_high[256] = {};
};

/// Layout of a run's elements: channel c of pixel k is at k * step + channel[c].
struct PixelSteps {
  ptrdiff_t step = 0;
  ptrdiff_t channel[3] = {};
};

/// Runs of samples that are consecutive in a tensor.
struct Runs {
  size_t count;          // runs
  size_t length;         // pixels of a run
  size_t pitch;          // bytes between runs; up to kRunPadding bytes beyond a run are read
  ptrdiff_t out_stride;  // elements between runs in the tensor
  PixelSteps pixels;     // in elements
};
constexpr size_t kRunPadding = 64;

/// Writes runs of pixels or gray bytes to `out`, and nothing between them.
void store_runs(const uint8_t* levels, const Runs& runs, const ElementRule& rule, uint8_t* out);

}  // namespace dvnn::image
