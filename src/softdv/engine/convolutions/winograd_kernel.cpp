// SPDX-License-Identifier: Apache-2.0
#include "softdv/engine/convolutions/winograd_kernel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "softdv/engine/convolutions/winograd_kernel.cpp"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "softdv/engine/finish/register_finish-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dvnn::softdv::HWY_NAMESPACE {
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

// Transforms vectors of 4 positions, or returns the only one.
template <size_t kCount>
HWY_INLINE void TransformSources(const Values (&in)[kCount], Values (&out)[kCount]) {
  if constexpr (kCount == 4) {
    SourceTransform(in, out);
  } else {
    out[0] = in[0];
  }
}

template <bool kDown, bool kAcross>
HWY_INLINE void TransformTiles(const float* HWY_RESTRICT from, size_t row, size_t tiles,
                               float* HWY_RESTRICT to, size_t position) {
  constexpr size_t kRows = kDown ? 4 : 1, kColumns = kAcross ? 4 : 1;
  const Chunk d;
  for (size_t t = 0; t < tiles; ++t, from += kAcross ? 16 : 8, to += 8) {
    for (size_t lane = 0; lane < 8; lane += hn::Lanes(d)) {
      Values columns[kColumns][kRows];  // (column, position among rows)
      for (size_t x = 0; x < kColumns; ++x) {
        Values in[kRows];
        for (size_t y = 0; y < kRows; ++y) in[y] = hn::LoadU(d, from + y * row + x * 8 + lane);
        TransformSources(in, columns[x]);
      }
      for (size_t y = 0; y < kRows; ++y) {
        Values in[kColumns], out[kColumns];
        for (size_t x = 0; x < kColumns; ++x) in[x] = columns[x][y];
        TransformSources(in, out);
        for (size_t x = 0; x < kColumns; ++x) {
          hn::StoreU(out[x], d, to + (kColumns * y + x) * position + lane);
        }
      }
    }
  }
}

void WinogradSources(WinogradTile tile, const float* HWY_RESTRICT from, size_t row, size_t tiles,
                     float* HWY_RESTRICT to, size_t position) {
  if (!tile.across) return TransformTiles<true, false>(from, row, tiles, to, position);
  if (!tile.down) return TransformTiles<false, true>(from, row, tiles, to, position);
  TransformTiles<true, true>(from, row, tiles, to, position);
}

// The paper's A^T m for four vectors; `sums` has one for a tile of one pixel along the axis.
template <size_t kCount>
HWY_INLINE Values FirstResult(const Values (&sums)[kCount]) {
  if constexpr (kCount == 1)
    return sums[0];
  else
    return hn::Add(hn::Add(sums[0], sums[1]), sums[2]);
}
template <size_t kCount>
HWY_INLINE Values SecondResult(const Values (&sums)[kCount]) {
  if constexpr (kCount == 1)
    return sums[0];
  else
    return hn::Sub(hn::Sub(sums[1], sums[2]), sums[3]);
}

// Where sums lie, as winograd_sources() leaves its numbers, and the chunk's biases.
struct Sums {
  const float* from;
  size_t position, tiles;
  const float* bias;
};

// Calls take(vector, row, float of the row) for all results.
template <bool kDown, bool kAcross, class Take>
HWY_INLINE void TransformSums(const Sums& sums, Take take) {
  constexpr size_t kRows = kDown ? 4 : 1, kColumns = kAcross ? 4 : 1;
  const Chunk d;
  size_t at = 0;
  for (size_t t = 0; t < sums.tiles; ++t, at += kAcross ? 16 : 8) {
    for (size_t lane = 0; lane < 8; lane += hn::Lanes(d)) {
      Values up[kColumns], low[kColumns];
      for (size_t x = 0; x < kColumns; ++x) {
        Values column[kRows];
        for (size_t y = 0; y < kRows; ++y) {
          const size_t position = (kColumns * y + x) * sums.position;
          column[y] = hn::LoadU(d, sums.from + position + 8 * t + lane);
        }
        up[x] = FirstResult(column);
        low[x] = SecondResult(column);
      }
      const auto bias = hn::LoadU(d, sums.bias + lane);
      take(hn::Add(FirstResult(up), bias), 0, at + lane);
      if (kAcross) take(hn::Add(SecondResult(up), bias), 0, at + 8 + lane);
      if (!kDown) continue;
      take(hn::Add(FirstResult(low), bias), 1, at + lane);
      if (kAcross) take(hn::Add(SecondResult(low), bias), 1, at + 8 + lane);
    }
  }
}

template <class Take>
HWY_INLINE void TransformSums(WinogradTile tile, const Sums& sums, Take take) {
  if (!tile.across) return TransformSums<true, false>(sums, take);
  if (!tile.down) return TransformSums<false, true>(sums, take);
  TransformSums<true, true>(sums, take);
}

void WinogradResults(WinogradTile tile, const float* HWY_RESTRICT from, size_t position,
                     size_t tiles, const float* HWY_RESTRICT bias, float* HWY_RESTRICT upper,
                     float* HWY_RESTRICT lower) {
  TransformSums(tile, {from, position, tiles, bias},
                [=](auto result, size_t row, size_t at)
                    HWY_ATTR { hn::StoreU(result, Chunk(), (row ? lower : upper) + at); });
}

void WinogradFinished(WinogradTile tile, const float* HWY_RESTRICT from, size_t position,
                      size_t tiles, const float* HWY_RESTRICT bias, const RegisterFinish* finish,
                      size_t rows, size_t columns) {
  const RegisterFinish by = *finish;  // a copy, which the loop's stores cannot change
  const Sums sums = {from, position, tiles, bias};
  const size_t row_values = 8 * columns;
  const auto make = [&](auto activation) HWY_ATTR {
    TransformSums(tile, sums, [=](auto result, size_t row, size_t at) HWY_ATTR {
      if (row >= rows || at >= row_values) return;
      const Chunk d;
      const size_t to = row * row_values + at;
      if (by.addend) result = hn::Add(result, LoadHalves(d, by.addend + to));
      const auto slope = by.slopes ? hn::LoadU(d, by.slopes + at % 8) : hn::Set(d, by.slope);
      Activate(d, activation, slope, &result, 1);
      StoreHalves(d, result, by.to + to);
    });
  };
  WithActivation(by.activation, make);
}

}  // namespace dvnn::softdv::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dvnn::softdv {
namespace {

HWY_EXPORT(WinogradSources);
HWY_EXPORT(WinogradResults);
HWY_EXPORT(WinogradFinished);

}  // namespace

void winograd_sources(WinogradTile tile, const float* from, size_t row, size_t tiles, float* to,
                      size_t position) {
  HWY_DYNAMIC_DISPATCH(WinogradSources)(tile, from, row, tiles, to, position);
}

void winograd_results(WinogradTile tile, const float* from, size_t position, size_t tiles,
                      const float* bias, float* upper, float* lower) {
  HWY_DYNAMIC_DISPATCH(WinogradResults)(tile, from, position, tiles, bias, upper, lower);
}

void winograd_finished(WinogradTile tile, const float* from, size_t position, size_t tiles,
                       const float* bias, const RegisterFinish& finish, size_t rows,
                       size_t columns) {
  HWY_DYNAMIC_DISPATCH(WinogradFinished)(tile, from, position, tiles, bias, &finish, rows, columns);
}

}  // namespace dvnn::softdv
#endif  // HWY_ONCE
