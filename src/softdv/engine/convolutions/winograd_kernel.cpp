// SPDX-License-Identifier: Apache-2.0
#include "softdv/engine/convolutions/winograd_kernel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "softdv/engine/convolutions/winograd_kernel.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dvnn::softdv {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Chunk = hn::CappedTag<float, 8>;
using Values = hn::Vec<Chunk>;

// The paper's B^T d for four vectors.
HWY_INLINE void SourceTransform(const Values (&in)[4], Values (&out)[4]) {
  out[0] = hn::Sub(in[0], in[2]);
  out[1] = hn::Add(in[1], in[2]);
  out[2] = hn::Sub(in[2], in[1]);
  out[3] = hn::Sub(in[1], in[3]);
}

void WinogradSources(const float* HWY_RESTRICT from, size_t row, size_t tiles,
                     float* HWY_RESTRICT to, size_t position) {
  const Chunk d;
  for (size_t t = 0; t < tiles; ++t, from += 16, to += 8) {
    for (size_t lane = 0; lane < 8; lane += hn::Lanes(d)) {
      Values columns[4][4];  // (column, position among rows)
      for (size_t x = 0; x < 4; ++x) {
        Values in[4];
        for (size_t y = 0; y < 4; ++y) in[y] = hn::LoadU(d, from + y * row + x * 8 + lane);
        SourceTransform(in, columns[x]);
      }
      for (size_t y = 0; y < 4; ++y) {
        const Values in[4] = {columns[0][y], columns[1][y], columns[2][y], columns[3][y]};
        Values out[4];
        SourceTransform(in, out);
        for (size_t x = 0; x < 4; ++x) {
          hn::StoreU(out[x], d, to + (4 * y + x) * position + lane);
        }
      }
    }
  }
}

void WinogradResults(const float* HWY_RESTRICT from, size_t position, size_t tiles,
                     const float* HWY_RESTRICT bias, float* HWY_RESTRICT upper,
                     float* HWY_RESTRICT lower) {
  const Chunk d;
  for (size_t t = 0; t < tiles; ++t, from += 8, upper += 16, lower += 16) {
    for (size_t lane = 0; lane < 8; lane += hn::Lanes(d)) {
      Values up[4], low[4];
      for (size_t x = 0; x < 4; ++x) {
        const float* const column = from + x * position + lane;
        const auto m0 = hn::LoadU(d, column), m1 = hn::LoadU(d, column + 4 * position);
        const auto m2 = hn::LoadU(d, column + 8 * position);
        const auto m3 = hn::LoadU(d, column + 12 * position);
        up[x] = hn::Add(hn::Add(m0, m1), m2);
        low[x] = hn::Sub(hn::Sub(m1, m2), m3);
      }
      const auto b = hn::LoadU(d, bias + lane);
      hn::StoreU(hn::Add(hn::Add(hn::Add(up[0], up[1]), up[2]), b), d, upper + lane);
      hn::StoreU(hn::Add(hn::Sub(hn::Sub(up[1], up[2]), up[3]), b), d, upper + 8 + lane);
      hn::StoreU(hn::Add(hn::Add(hn::Add(low[0], low[1]), low[2]), b), d, lower + lane);
      hn::StoreU(hn::Add(hn::Sub(hn::Sub(low[1], low[2]), low[3]), b), d, lower + 8 + lane);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace dvnn::softdv
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dvnn::softdv {
namespace {

HWY_EXPORT(WinogradSources);
HWY_EXPORT(WinogradResults);

}  // namespace

void winograd_sources(const float* from, size_t row, size_t tiles, float* to, size_t position) {
  HWY_DYNAMIC_DISPATCH(WinogradSources)(from, row, tiles, to, position);
}

void winograd_results(const float* from, size_t position, size_t tiles, const float* bias,
                      float* upper, float* lower) {
  HWY_DYNAMIC_DISPATCH(WinogradResults)(from, position, tiles, bias, upper, lower);
}

}  // namespace dvnn::softdv
#endif  // HWY_ONCE
