// SPDX-License-Identifier: Apache-2.0
// Functions of one element and of two, on arrays.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dvnn::kernels {

/// y = f(x), with up to two parameters. NaN gives NaN, but for kIsNan, kNot, kShrink, kSign and
/// kThresholdedRelu.
enum class Curve : uint8_t {
  kAbs,          // |x|
  kClip,         // at least a, at most b
  kElu,          // x above 0, a (e^x - 1) below
  kErf,          // error function
  kExp,          // e^x
  kGelu,         // x / 2 (1 + erf(x / root of 2))
  kGeluTanh,     // the same by a hyperbolic tangent
  kHardSigmoid,  // a x + b, at least 0, at most 1
  kHardSwish,    // x (x / 6 + 1/2, at least 0, at most 1)
  kLine,         // a x + b
  kLog,          // natural logarithm
  kMish,         // x tanh(softplus(x))
  kRelu,         // x above 0, a x below
  kReciprocal,   // 1 / x
  kSigmoid,      // 1 / (1 + e^-x)
  kSoftplus,     // log(1 + e^x)
  kSqrt,         // square root
  kSwish,        // x / (1 + e^-ax)
  kTanh,         // hyperbolic tangent; the last that is computed in vectors
  // By the C library, one float at a time, as ONNX defines them.
  kAcos,
  kAcosh,
  kAsin,
  kAsinh,
  kAtan,
  kAtanh,
  kCeil,
  kCelu,  // x above 0, a (e^(x / a) - 1) below
  kCos,
  kCosh,
  kFloor,
  kHalf,    // rounded to binary16
  kIsNan,   // 1 of NaN, else 0
  kNot,     // 1 of 0, else 0
  kRound,   // halves to even
  kSelu,    // b x above 0, b a (e^x - 1) below
  kShrink,  // x + a below -b, x - a above b, else 0
  kSign,
  kSin,
  kSinh,
  kSoftsign,  // x / (1 + |x|)
  kTan,
  kThresholdedRelu,  // x above a, else 0
  kTrunc,
};

constexpr bool is_vectored(Curve curve) {
  return curve <= Curve::kTanh;
}

/// Writes `curve` of each of `count` floats; `to` may be `from`. Results that are computed by e^x
/// are within 2 units in the last place; kGelu and kErf beyond 1 lose the last bits of x^2, too.
void apply(Curve curve, float a, float b, const float* from, float* to, size_t count);

namespace plain {
/// The plain form of apply(): the same results bit for bit, one float at a time.
void apply(Curve curve, float a, float b, const float* from, float* to, size_t count);
}  // namespace plain

/// The sigmoid of `count` floats.
inline void sigmoid(const float* from, float* to, size_t count) {
  apply(Curve::kSigmoid, 0, 0, from, to, count);
}

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
