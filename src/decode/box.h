// SPDX-License-Identifier: Apache-2.0
// Converts boxes of decoders (kernels/boxes/prior_box.h) to those of objects.
#pragma once

#include "image/view.h"
#include "kernels/boxes/prior_box.h"

namespace dvnn::decode {

using kernels::Box;
using kernels::ScoredBox;

/// Returns the box in double precision, for an object.
inline image::Corners to_corners(const Box& box) {
  return {double{box.x0}, double{box.y0}, double{box.x1}, double{box.y1}};
}

}  // namespace dvnn::decode
