// SPDX-License-Identifier: Apache-2.0
// The inner loops of a direct convolution: sums stay in registers from the first product to the
// last. Each sum is added in the same order, whatever is computed beside it, so results do not
// depend on how work is divided.
#pragma once

#include <cstddef>

#include "softdv/engine/finish/register_finish.h"

namespace dvnn::softdv {

constexpr size_t kPanelChannels = 16;  // channels of the result whose weights are adjacent

/// Adjacent source values of a result: those of one tap, or of several.
struct DirectTap {
  size_t offset;  // floats from the result's first source value
  size_t values;
};

/// Result pixels whose sources are equally far apart.
struct DirectPixels {
  const float* from;  // the first pixel's first source value
  size_t step;        // floats from the source of one result to that of the next
  size_t count;
  // One of the two is set: unfinished results as floats, or finished results.
  float* floats;  // the first panel's first pixel; pixels of 8 floats, chunk by chunk
  size_t plane;   // floats from one chunk to the next
  const RegisterFinish* finish;
};

/// Memory that is read after a convolution. It is fetched into the second-level cache meanwhile, a
/// cache line with each tap: the weights of large layers come from farther away.
struct FetchedAhead {
  const char *next, *end;
};

/// Panels of weights, each (tap, values of the tap, kPanelChannels).
struct DirectWeights {
  const DirectTap* taps;
  size_t tap_count;
  // One of the two is set.
  const half_t* halves;
  const float* floats;
  size_t panel;  // elements from one panel to the next
  const float* bias;
  size_t chunks;        // number of chunks of 8 channels to make: two per panel, or one of the last
  FetchedAhead* ahead;  // whose `next` moves on
};

/// Returns whether few sums fit into registers, so that converting a weight takes long in relation
/// to its products.
bool registers_are_few();

/// Convolves and adds the bias.
void convolve_pixels(const DirectPixels& pixels, const DirectWeights& weights);

}  // namespace dvnn::softdv
