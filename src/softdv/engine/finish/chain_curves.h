// SPDX-License-Identifier: Apache-2.0
// Curves of e^x whose results become binary16: as accurate as those need, in half of the steps of
// kernels/curves.h.
#pragma once

#include <cstddef>

#include "kernels/curves.h"
#include "tensor/half.h"

namespace dvnn::softdv {

/// Says whether short_curve() has a curve: sigmoid, swish and GELU by a hyperbolic tangent.
bool is_short(kernels::Curve curve);

/// Writes the curve, with its parameter `a`, of `count` floats rounded to `halves` or, if that is
/// null, as they are to `to`, which may be `from`. Before that rounding, results are within 2^-20
/// of their size, and of 2^-24 where they are smaller. NaN gives NaN.
void short_curve(kernels::Curve curve, float a, const float* from, size_t count, float* to,
                 half_t* halves);

}  // namespace dvnn::softdv
