// SPDX-License-Identifier: Apache-2.0
// The inner loops of a direct convolution: sums stay in registers from the first product to the
// last. Each sum is formed in one order, whatever is computed beside it, so results do not depend
// on how work is divided.
#pragma once

#include <cstddef>

#include "softdv/engine/finish/register_finish.h"

namespace dvnn::softdv {

constexpr size_t kPanelChannels = 16;  // of the result, whose weights lie side by side

/// Source values of a result that lie side by side: those of a tap, or of several.
struct DirectTap {
  size_t offset;  // floats from the result's first one
  size_t values;
};

/// Result pixels whose source pixels have the same distance.
struct DirectPixels {
  const float* from;  // the first pixel's first source value
  size_t step;        // floats from the source of one result to that of the next
  size_t count;
  // One of them: floats as they are summed up, or finished results.
  float* floats;  // the first panel's first pixel; pixels of 8 floats, chunk by chunk
  size_t plane;   // floats from one chunk to the next
  const RegisterFinish* finish;
};

/// Panels of weights, each (tap, its values, kPanelChannels).
struct DirectWeights {
  const DirectTap* taps;
  size_t tap_count;
  // One of them.
  const half_t* halves;
  const float* floats;
  size_t panel;  // elements from one panel to the next
  const float* bias;
  size_t chunks;  // of 8 channels that are made: two of each panel, or one of the last
};

/// Says whether so few sums stay in registers that to convert a weight takes long beside its
/// products.
bool registers_are_few();

/// Convolves and adds the bias. `floats` have room for both chunks of the last panel.
void convolve_pixels(const DirectPixels& pixels, const DirectWeights& weights);

}  // namespace dvnn::softdv
