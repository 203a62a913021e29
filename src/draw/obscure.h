// SPDX-License-Identifier: Apache-2.0
// Makes parts of a frame, such as faces or number plates, unrecognisable in the frame's own
// samples.
#pragma once

#include <cstddef>
#include <cstdint>

#include "draw/item.h"

namespace dvnn::draw {

/// A component of a frame in memory.
struct Samples {
  uint8_t* data = nullptr;
  ptrdiff_t stride = 0;  // bytes from row to row
  int step = 1;          // bytes from sample to sample
  int width = 0, height = 0;
  int bytes = 1;        // per sample; 2: little-endian
  int shift = 0;        // unused bits below the sample
  uint32_t others = 0;  // mask of bits that belong to other samples and must not change
};

/// A rectangle of samples.
struct SampleRect {
  int x0 = 0, y0 = 0, x1 = 0, y1 = 0;
};

/// Replaces the samples of `rect`, which is clipped to the component, by averages of cells of
/// `cell_width` x `cell_height`: as squares, or blurred by interpolation between them. Nothing of
/// the picture but the averages is left.
void obscure(const Samples& samples, SampleRect rect, int cell_width, int cell_height, Obscure how);

}  // namespace dvnn::draw
