// SPDX-License-Identifier: Apache-2.0
// The vector code from u8 samples to tensor elements: normalisation, rounding, channel order.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/input_spec.h"
#include "tensor/tensor.h"

namespace dvnn::image {

/// Level -> element: (level - mean) * scale, which integers (uint8, int8) store as
/// value * steps + zero_point, to nearest and clamped.
struct ElementRule {
  /// `channels`: 1 (gray bytes) or 3 (pixels, see colour.h).
  ElementRule(ElementType type, int channels, const InputSpec& picture);
  ElementRule() = default;
  /// The element of a level of a channel of the tensor, to element_size(type) bytes.
  void put(int level, int channel, uint8_t* to) const;

  ElementType type = ElementType::kFloat16;
  int channels = 3;
  bool bgr = false;  // the tensor's first channel is blue
  float steps = 1, zero_point = 0;
  // The number of consecutive elements, channels side by side, after which the pattern repeats.
  static constexpr size_t kPattern = 48;
  alignas(64) float mean[kPattern] = {}, scale[kPattern] = {};
  // Set if all channels share one rule: the bytes of the FP16 element of each u8 value, for lookup.
  bool has_halves = false;
  alignas(64) uint8_t half_low[256] = {}, half_high[256] = {};
};

/// Layout of a run's elements: channel c of pixel k lies at k * step + channel[c].
struct PixelSteps {
  ptrdiff_t step = 0;
  ptrdiff_t channel[3] = {};
};

/// Runs of samples that follow one another in a tensor.
struct Runs {
  size_t count;          // runs
  size_t length;         // pixels of a run
  size_t pitch;          // bytes from run to run; up to kRunPadding bytes beyond a run are read
  ptrdiff_t out_stride;  // elements from run to run in the tensor
  PixelSteps pixels;     // elements
};
constexpr size_t kRunPadding = 64;

/// Writes runs of pixels or gray bytes to `out`, and nothing else.
void store_runs(const uint8_t* levels, const Runs& runs, const ElementRule& rule, uint8_t* out);

}  // namespace dvnn::image
