// SPDX-License-Identifier: Apache-2.0
// Arrays combined element by element.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dvnn::kernels {

enum class Combination : uint8_t { kSum, kProduct, kMax };

/// Writes factor * `from` to `to`, which may be `from`.
void scale(const float* from, float factor, float* to, size_t count);

/// Combines `result` with factor * `from`, element by element. kMax keeps the value in `result` if
/// the two do not compare, as std::max(result, from) does.
void combine(Combination combination, const float* from, float factor, float* result, size_t count);

/// to = x OP y. kMax and kMin are std::max(x, y) and std::min(x, y); kPrelu is x above 0, x y
/// below.
enum class Operation : uint8_t { kAdd, kDiv, kMax, kMin, kMul, kPrelu, kSub };

/// Writes `operation` of each of `count` pairs of floats; `to` may be `x` or `y`.
void operate(Operation operation, const float* x, const float* y, float* to, size_t count);

namespace plain {
/// The plain forms of scale(), combine() and operate(): the same results bit for bit, one float at
/// a time.
void scale(const float* from, float factor, float* to, size_t count);
void combine(Combination combination, const float* from, float factor, float* result, size_t count);
void operate(Operation operation, const float* x, const float* y, float* to, size_t count);
}  // namespace plain

}  // namespace dvnn::kernels
