// SPDX-License-Identifier: Apache-2.0
#include "kernels/arithmetic/reductions.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/arithmetic/standardise.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dvnn::kernels::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR || !HWY_HAVE_FLOAT64

void AddDeviations(const float* first, size_t stride, size_t lines, const double* means, double* to,
                   size_t count) {
  plain::add_deviations(first, stride, lines, means, to, count);
}

void StandardiseLines(const float* first, size_t stride, size_t lines, const double* means,
                      const double* factors, float* to, size_t count) {
  plain::standardise_lines(first, stride, lines, means, factors, to, count);
}

void StandardiseRow(const float* from, double mean, double factor, float* to, size_t count) {
  plain::standardise_row(from, mean, factor, to, count);
}

#else

template <class D>
HWY_INLINE hn::Vec<D> Deviation(D d, const float* at, hn::Vec<D> mean) {
  return hn::Sub(hn::PromoteTo(d, hn::LoadU(hn::Rebind<float, D>(), at)), mean);
}

void AddDeviations(const float* first, size_t stride, size_t lines, const double* means, double* to,
                   size_t count) {
  ForEachVectors<double>(count, [=](auto d, auto vectors, size_t i) HWY_ATTR {
    constexpr size_t kVectors = decltype(vectors)::value;
    const size_t lanes = hn::Lanes(d);
    hn::Vec<decltype(d)> mean[kVectors], sum[kVectors];
    for (size_t v = 0; v < kVectors; ++v) {
      mean[v] = hn::LoadU(d, means + i + v * lanes);
      sum[v] = hn::LoadU(d, to + i + v * lanes);
    }
    for (size_t k = 0; k < lines; ++k) {
      for (size_t v = 0; v < kVectors; ++v) {
        const auto far = Deviation(d, first + k * stride + i + v * lanes, mean[v]);
        sum[v] = hn::Add(sum[v], hn::Mul(far, far));
      }
    }
    for (size_t v = 0; v < kVectors; ++v) hn::StoreU(sum[v], d, to + i + v * lanes);
  });
}

void StandardiseLines(const float* first, size_t stride, size_t lines, const double* means,
                      const double* factors, float* to, size_t count) {
  ForEachVector<double>(count, [=](auto d, size_t i) HWY_ATTR {
    const hn::Rebind<float, decltype(d)> narrow;
    const auto mean = hn::LoadU(d, means + i), factor = hn::LoadU(d, factors + i);
    for (size_t k = 0; k < lines; ++k) {
      const auto made = hn::Mul(Deviation(d, first + k * stride + i, mean), factor);
      hn::StoreU(hn::DemoteTo(narrow, made), narrow, to + k * stride + i);
    }
  });
}

void StandardiseRow(const float* from, double mean, double factor, float* to, size_t count) {
  ForEachVector<double>(count, [=](auto d, size_t i) HWY_ATTR {
    const hn::Rebind<float, decltype(d)> narrow;
    const auto made = hn::Mul(Deviation(d, from + i, hn::Set(d, mean)), hn::Set(d, factor));
    hn::StoreU(hn::DemoteTo(narrow, made), narrow, to + i);
  });
}

#endif

}  // namespace dvnn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dvnn::kernels {

HWY_EXPORT(AddDeviations);
HWY_EXPORT(StandardiseLines);
HWY_EXPORT(StandardiseRow);

void add_deviations(const float* first, size_t stride, size_t lines, const double* means,
                    double* to, size_t count) {
  HWY_DYNAMIC_DISPATCH(AddDeviations)(first, stride, lines, means, to, count);
}

void standardise_lines(const float* first, size_t stride, size_t lines, const double* means,
                       const double* factors, float* to, size_t count) {
  HWY_DYNAMIC_DISPATCH(StandardiseLines)(first, stride, lines, means, factors, to, count);
}

void standardise_row(const float* from, double mean, double factor, float* to, size_t count) {
  HWY_DYNAMIC_DISPATCH(StandardiseRow)(from, mean, factor, to, count);
}

namespace plain {

void add_deviations(const float* first, size_t stride, size_t lines, const double* means,
                    double* to, size_t count) {
  for (size_t k = 0; k < lines; ++k) {
    for (size_t i = 0; i < count; ++i) {
      const double far = static_cast<double>(first[k * stride + i]) - means[i];
      to[i] += far * far;
    }
  }
}

void standardise_lines(const float* first, size_t stride, size_t lines, const double* means,
                       const double* factors, float* to, size_t count) {
  for (size_t k = 0; k < lines; ++k) {
    for (size_t i = 0; i < count; ++i) {
      const double far = static_cast<double>(first[k * stride + i]) - means[i];
      to[k * stride + i] = static_cast<float>(far * factors[i]);
    }
  }
}

void standardise_row(const float* from, double mean, double factor, float* to, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    to[i] = static_cast<float>((static_cast<double>(from[i]) - mean) * factor);
  }
}

}  // namespace plain
}  // namespace dvnn::kernels
#endif  // HWY_ONCE
