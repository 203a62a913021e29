// SPDX-License-Identifier: Apache-2.0
// A network small enough to understand: it finds red squares on a 4 x 4 grid.
//
// Input 1x3x16x16 (rgb, /255). A 4x4 convolution with stride 4 gives each cell's confidence of
// "red" (64 * (mean red - mean green - 0.5)); another gives box deltas, all zero. Permute and
// Softmax run on the CPU; the ssd decoder has one anchor per cell, as large as the cell.
//
// Variants look for blue, look only at the upper half of each cell (so that a turned picture gives
// other cells), or have a finer grid.
#pragma once

#include "network/model.h"

namespace dvnn::test {

struct GridVariant {
  const char* name = "grid";
  const char* label = "red";
  bool blue = false;        // finds blue cells: channels in the order bgr
  bool upper_half = false;  // looks at the upper half of each cell
  int cells = 4;            // in a row and in a column; the input has 4 pixels each
};

network::Model grid_network(const GridVariant& variant = {});

}  // namespace dvnn::test
