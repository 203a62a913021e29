// SPDX-License-Identifier: Apache-2.0
// Curves whose results become binary16: as accurate as those need, in fewer steps than
// kernels/curves.h takes, and rounded in the same pass.
#pragma once

#include <cstddef>

#include "kernels/arithmetic/curves.h"
#include "tensor/half.h"

namespace dvnn::softdv {

/// x (a x + b, at least `least`, at most `most`): hard-swish, however a network writes it.
struct Gate {
  float a, b, least, most;
};

/// Writes x times its gate, of `count` floats, as short_curve() does; the bounds are in order.
void short_gate(const Gate& gate, const float* from, size_t count, float* to, half_t* halves);

/// Says whether short_curve() has a curve: sigmoid, swish and GELU by a hyperbolic tangent.
bool is_short(kernels::Curve curve);

/// Writes the curve, with its parameter `a`, of `count` floats rounded to `halves` or, if that is
/// null, as they are to `to`, which may be `from`. Before that rounding, results are within 2^-20
/// of their size, and of 2^-24 where they are smaller. NaN gives NaN.
void short_curve(kernels::Curve curve, float a, const float* from, size_t count, float* to,
                 half_t* halves);

}  // namespace dvnn::softdv
