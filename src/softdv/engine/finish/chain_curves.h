// SPDX-License-Identifier: Apache-2.0
// Curves whose results become binary16: accurate to that, in fewer steps than
// kernels/arithmetic/curves.h, and rounded in the same pass.
#pragma once

#include <cstddef>

#include "kernels/arithmetic/curves.h"
#include "tensor/half.h"

namespace dvnn::softdv {

/// x times (a x + b, clamped to `least` and `most`): hard-swish in any of its forms.
struct Gate {
  float a, b, least, most;
};

/// Writes x times its gate for `count` floats, to outputs as short_curve() does; `least` must not
/// exceed `most`.
void short_gate(const Gate& gate, const float* from, size_t count, float* to, half_t* halves);

/// Returns whether short_curve() has a curve: sigmoid, swish, and GELU in both forms.
bool is_short(kernels::Curve curve);

/// Writes the curve, with its parameter `a` (a factor of GELU's), of `count` floats: rounded to
/// `halves` or, if that is null, to `to`, which may be `from`. Before rounding, the error is within
/// 2^-20 of the result (2^-18 of GELU by the error function), or 2^-24 for small results. NaN
/// gives NaN.
void short_curve(kernels::Curve curve, float a, const float* from, size_t count, float* to,
                 half_t* halves);

}  // namespace dvnn::softdv
