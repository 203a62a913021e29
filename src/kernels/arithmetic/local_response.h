// SPDX-License-Identifier: Apache-2.0
// Local response normalisation: values divided by a power of their neighbours' squares.
#pragma once

#include <cstddef>

namespace dvnn::kernels {

struct LocalResponse {
  float bias, factor, beta;
};

/// to[i] = own[i] / (bias + factor * s)^beta, where s is the sum of the squares of first[k * stride
/// + i] for k of 0 to lines - 1, in that order. A beta of 3/4 is two square roots, which give the
/// same bits everywhere; others are the C library's power.
void normalise_local(const LocalResponse& by, const float* first, size_t stride, size_t lines,
                     const float* own, float* to, size_t count);

namespace plain {
/// The plain form of normalise_local(): the same results bit for bit.
void normalise_local(const LocalResponse& by, const float* first, size_t stride, size_t lines,
                     const float* own, float* to, size_t count);
}  // namespace plain

}  // namespace dvnn::kernels
