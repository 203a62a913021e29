// SPDX-License-Identifier: Apache-2.0
// Boxes, and the candidates of non-maximum suppression.
#pragma once

#include <cstddef>

namespace dvnn::kernels {

/// A rectangle in fractions of the network's input: (0, 0) is its top left corner, (1, 1) its
/// bottom right one. Not clipped. Decoders compute in single precision, as the networks were
/// trained.
struct Box {
  float x0 = 0, y0 = 0, x1 = 0, y1 = 0;
};

/// A candidate of non-maximum suppression: index into the caller's boxes.
struct Candidate {
  float score = 0;
  int index = 0;
  size_t place() const { return static_cast<size_t>(index); }  // in an array
};

}  // namespace dvnn::kernels
