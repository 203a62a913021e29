// SPDX-License-Identifier: Apache-2.0
// Boxes as decoders have them (kernels/prior.h) and as objects do.
#pragma once

#include "image/view.h"
#include "kernels/boxes/prior.h"

namespace dvnn::decode {

using kernels::Box;
using kernels::ScoredBox;

/// The box in double precision, as objects have it.
inline image::Corners to_corners(const Box& box) {
  return {double{box.x0}, double{box.y0}, double{box.x1}, double{box.y1}};
}

}  // namespace dvnn::decode
