// SPDX-License-Identifier: Apache-2.0
// Part of the convolutions' sources that is compiled for every instruction set.

// A guard for each target, as in Highway's own -inl headers.
#if defined(DVNN_SOFTDV_REGISTER_FINISH_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DVNN_SOFTDV_REGISTER_FINISH_INL_H
#undef DVNN_SOFTDV_REGISTER_FINISH_INL_H
#else
#define DVNN_SOFTDV_REGISTER_FINISH_INL_H
#endif

#include <type_traits>

#include "hwy/highway.h"
#include "kernels/vectors-inl.h"
#include "softdv/engine/finish/register_finish.h"
#include "softdv/engine/halves-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dvnn::softdv::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Returns the larger of `v` and `best`, which is no NaN; `best` if `v` is NaN.
template <typename V>
HWY_INLINE V Larger(V v, V best) {
#if HWY_ARCH_X86
  return hn::Max(v, best);  // the instruction returns its second operand if one is NaN
#else
  return hn::IfThenElse(hn::Gt(v, best), v, best);
#endif
}

// Calls f(activation) with a constant, so that its loops need no branch.
template <class F>
HWY_INLINE void WithActivation(RegisterActivation activation, F f) {
  using Kind = RegisterActivation;
  switch (activation) {
    case Kind::kNone:
      return f(std::integral_constant<Kind, Kind::kNone>());
    case Kind::kRelu:
      return f(std::integral_constant<Kind, Kind::kRelu>());
    case Kind::kSloped:
      return f(std::integral_constant<Kind, Kind::kSloped>());
    case Kind::kRelu6:
      return f(std::integral_constant<Kind, Kind::kRelu6>());
  }
}

// Activates `count` vectors; `slope`: of their channels. Gives the same bits as activate().
template <class D>
HWY_INLINE void Activate(D d, RegisterActivation activation, hn::Vec<D> slope, hn::Vec<D>* values,
                         size_t count) {
  const auto zero = hn::Zero(d);
  if (activation == RegisterActivation::kRelu) {
    HWY_UNROLL(24)
    for (size_t i = 0; i < count; ++i) {
      values[i] = kernels::HWY_NAMESPACE::AtLeastZero(d, values[i]);
    }
  } else if (activation == RegisterActivation::kSloped) {
    HWY_UNROLL(24)
    for (size_t i = 0; i < count; ++i) {
      const auto x = values[i];
#if HWY_TARGET <= HWY_AVX3
      // Multiplies only the lanes not above 0, for which compilers would need two instructions.
      if constexpr (hn::MaxLanes(D()) == 16) {
        const __mmask16 others = _mm512_cmp_ps_mask(x.raw, zero.raw, _CMP_NGT_UQ);
        values[i] = hn::Vec<D>{_mm512_mask_mul_ps(x.raw, others, x.raw, slope.raw)};
        continue;
      }
#endif
      values[i] = hn::IfThenElse(hn::Gt(x, zero), x, hn::Mul(x, slope));
    }
  } else if (activation == RegisterActivation::kRelu6) {
    const auto six = hn::Set(d, 6.0f);
    HWY_UNROLL(24)
    for (size_t i = 0; i < count; ++i) {
#if HWY_ARCH_X86
      // If one operand is NaN or both are 0, the instructions return the second one, whereas
      // MaxOf() and MinOf() return the first one.
      values[i] = hn::Min(six, hn::Max(zero, values[i]));
#else
      using kernels::HWY_NAMESPACE::MaxOf;
      using kernels::HWY_NAMESPACE::MinOf;
      values[i] = MinOf(MaxOf(values[i], zero), six);
#endif
    }
  }
}

}  // namespace dvnn::softdv::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
