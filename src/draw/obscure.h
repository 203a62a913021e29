// SPDX-License-Identifier: Apache-2.0
// Makes parts of a frame unrecognisable, in the frame's own samples: faces, number plates.
#pragma once

#include <cstddef>
#include <cstdint>

#include "draw/item.h"

namespace dvnn::draw {

/// One component of a frame in memory.
struct Samples {
  uint8_t* data = nullptr;
  ptrdiff_t stride = 0;  // bytes from row to row
  int step = 1;          // bytes from sample to sample
  int width = 0, height = 0;
  int bytes = 1;        // of a sample; 2: little-endian
  int shift = 0;        // bits at the bottom of its bytes that are not the sample's
  uint32_t others = 0;  // the bits of its bytes that are other samples': these stay
};

/// A rectangle of samples.
struct SampleRect {
  int x0 = 0, y0 = 0, x1 = 0, y1 = 0;
};

/// Replaces the samples of `rect`, which is cut at the component's edges, by the averages of
/// cells of `cell_width` x `cell_height`: as squares, or, blurred, with smooth ways between them.
/// Neither keeps more of the picture than the averages.
void obscure(const Samples& samples, SampleRect rect, int cell_width, int cell_height, Obscure how);

}  // namespace dvnn::draw
