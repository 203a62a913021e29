// SPDX-License-Identifier: Apache-2.0
// Arrays combined element by element.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dvnn::kernels {

/// Writes factor * `from` to `to`, which may be `from`.
void scale(const float* from, float factor, float* to, size_t count);

/// to = x OP y. kMax and kMin are std::max(x, y) and std::min(x, y); kPrelu is x above 0, x y
/// below. Comparisons and logical operations return 1 or 0, and take any operand but 0 as true.
enum class Operation : uint8_t {
  kAdd,
  kDiv,
  kMax,
  kMin,
  kMul,
  kPrelu,
  kSub,  // the last that is computed in vectors
  // By the C library, one pair at a time.
  kAnd,
  kEqual,
  kFmod,  // with the dividend's sign
  kGreater,
  kGreaterOrEqual,
  kLess,
  kLessOrEqual,
  kMod,  // with the divisor's sign
  kOr,
  kPow,
  kTruncDiv,  // of integers
  kXor,
};

constexpr bool is_vectored(Operation operation) {
  return operation <= Operation::kSub;
}

/// Writes `operation` of each of `count` pairs of floats; `to` may be `x` or `y`.
void operate(Operation operation, const float* x, const float* y, float* to, size_t count);

namespace plain {
/// The plain forms of scale() and operate(): the same results bit for bit, one float at a time.
void scale(const float* from, float factor, float* to, size_t count);
void operate(Operation operation, const float* x, const float* y, float* to, size_t count);
}  // namespace plain

}  // namespace dvnn::kernels
