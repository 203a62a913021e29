// SPDX-License-Identifier: Apache-2.0
#include "softdv/engine/convolutions/kernels.h"

#include <type_traits>

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

// The paper's B^T d, for a tile of two results, and of four.
HWY_INLINE void TransformSources(const Values (&in)[4], Values (&out)[4]) {
  out[0] = hn::Sub(in[0], in[2]);
  out[1] = hn::Add(in[1], in[2]);
  out[2] = hn::Sub(in[2], in[1]);
  out[3] = hn::Sub(in[1], in[3]);
}
HWY_INLINE void TransformSources(const Values (&in)[6], Values (&out)[6]) {
  const Chunk d;
  const auto two = hn::Set(d, 2.0f), four = hn::Set(d, 4.0f), five = hn::Set(d, 5.0f);
  const auto even = hn::NegMulAdd(four, in[2], in[4]), odd = hn::NegMulAdd(four, in[1], in[3]);
  const auto even_step = hn::Sub(in[4], in[2]), odd_step = hn::Sub(in[3], in[1]);
  out[0] = hn::MulAdd(four, in[0], hn::NegMulAdd(five, in[2], in[4]));
  out[1] = hn::Add(even, odd);
  out[2] = hn::Sub(even, odd);
  out[3] = hn::MulAdd(two, odd_step, even_step);
  out[4] = hn::NegMulAdd(two, odd_step, even_step);
  out[5] = hn::MulAdd(four, in[1], hn::NegMulAdd(five, in[3], in[5]));
}
HWY_INLINE void TransformSources(const Values (&in)[1], Values (&out)[1]) {
  out[0] = in[0];
}

// kRows, kColumns: of results.
template <size_t kRows, size_t kColumns>
HWY_INLINE void TransformTiles(const float* HWY_RESTRICT from, size_t row, size_t tiles,
                               float* HWY_RESTRICT to, size_t position) {
  constexpr size_t kDown = WinogradTile::sources(kRows), kAcross = WinogradTile::sources(kColumns);
  const Chunk d;
  for (size_t t = 0; t < tiles; ++t, from += 8 * kColumns, to += 8) {
    for (size_t lane = 0; lane < 8; lane += hn::Lanes(d)) {
      Values columns[kAcross][kDown];  // (column, position among rows)
      for (size_t x = 0; x < kAcross; ++x) {
        Values in[kDown];
        for (size_t y = 0; y < kDown; ++y) in[y] = hn::LoadU(d, from + y * row + x * 8 + lane);
        TransformSources(in, columns[x]);
      }
      for (size_t y = 0; y < kDown; ++y) {
        Values in[kAcross], out[kAcross];
        for (size_t x = 0; x < kAcross; ++x) in[x] = columns[x][y];
        TransformSources(in, out);
        for (size_t x = 0; x < kAcross; ++x) {
          hn::StoreU(out[x], d, to + (kAcross * y + x) * position + lane);
        }
      }
    }
  }
}

// Calls f with a tile's rows and columns as constants.
template <class F>
HWY_INLINE void WithTile(WinogradTile tile, F f) {
  constexpr std::integral_constant<size_t, 1> one;
  constexpr std::integral_constant<size_t, 2> two;
  constexpr std::integral_constant<size_t, 4> four;
  if (tile.columns == 1) return tile.rows == 4 ? f(four, one) : f(two, one);
  if (tile.rows == 1) return tile.columns == 4 ? f(one, four) : f(one, two);
  tile.rows == 4 ? f(four, four) : f(two, two);
}

void WinogradSources(WinogradTile tile, const float* HWY_RESTRICT from, size_t row, size_t tiles,
                     float* HWY_RESTRICT to, size_t position) {
  WithTile(tile, [=](auto rows, auto columns)
                     HWY_ATTR { TransformTiles<rows, columns>(from, row, tiles, to, position); });
}

// The paper's A^T m.
HWY_INLINE void TransformSums(const Values (&sums)[4], Values (&out)[2]) {
  out[0] = hn::Add(hn::Add(sums[0], sums[1]), sums[2]);
  out[1] = hn::Sub(hn::Sub(sums[1], sums[2]), sums[3]);
}
HWY_INLINE void TransformSums(const Values (&sums)[6], Values (&out)[4]) {
  const Chunk d;
  const auto near = hn::Add(sums[1], sums[2]), near_step = hn::Sub(sums[1], sums[2]);
  const auto far = hn::Add(sums[3], sums[4]), far_step = hn::Sub(sums[3], sums[4]);
  out[0] = hn::Add(hn::Add(sums[0], near), far);
  out[1] = hn::MulAdd(hn::Set(d, 2.0f), far_step, near_step);
  out[2] = hn::MulAdd(hn::Set(d, 4.0f), far, near);
  out[3] = hn::Add(hn::MulAdd(hn::Set(d, 8.0f), far_step, near_step), sums[5]);
}
HWY_INLINE void TransformSums(const Values (&sums)[1], Values (&out)[1]) {
  out[0] = sums[0];
}

// Where sums lie, as winograd_sources() leaves its numbers, and the chunk's biases.
struct Sums {
  const float* from;
  size_t position, tiles;
  const float* bias;
};

// Calls take(vector, row, float of the row) for all results.
template <size_t kRows, size_t kColumns, class Take>
HWY_INLINE void TransformAllSums(const Sums& sums, Take take) {
  constexpr size_t kDown = WinogradTile::sources(kRows), kAcross = WinogradTile::sources(kColumns);
  const Chunk d;
  size_t at = 0;
  for (size_t t = 0; t < sums.tiles; ++t, at += 8 * kColumns) {
    for (size_t lane = 0; lane < 8; lane += hn::Lanes(d)) {
      Values columns[kAcross][kRows];
      for (size_t x = 0; x < kAcross; ++x) {
        Values in[kDown];
        for (size_t y = 0; y < kDown; ++y) {
          const size_t position = (kAcross * y + x) * sums.position;
          in[y] = hn::LoadU(d, sums.from + position + 8 * t + lane);
        }
        TransformSums(in, columns[x]);
      }
      const auto bias = hn::LoadU(d, sums.bias + lane);
      for (size_t y = 0; y < kRows; ++y) {
        Values in[kAcross], out[kColumns];
        for (size_t x = 0; x < kAcross; ++x) in[x] = columns[x][y];
        TransformSums(in, out);
        for (size_t x = 0; x < kColumns; ++x) {
          take(hn::Add(out[x], bias), y, at + 8 * x + lane);
        }
      }
    }
  }
}

void WinogradResults(WinogradTile tile, const float* HWY_RESTRICT from, size_t position,
                     size_t tiles, const float* HWY_RESTRICT bias, float* HWY_RESTRICT to,
                     size_t row) {
  const Sums sums = {from, position, tiles, bias};
  WithTile(tile, [&](auto rows, auto columns) HWY_ATTR {
    TransformAllSums<rows, columns>(sums, [=](auto result, size_t y, size_t at) HWY_ATTR {
      hn::StoreU(result, Chunk(), to + y * row + at);
    });
  });
}

void WinogradFinished(WinogradTile tile, const float* HWY_RESTRICT from, size_t position,
                      size_t tiles, const float* HWY_RESTRICT bias, const RegisterFinish* finish,
                      size_t rows, size_t columns) {
  const RegisterFinish by = *finish;  // a copy, which the loop's stores cannot change
  const Sums sums = {from, position, tiles, bias};
  const size_t row_values = 8 * columns;
  WithTile(tile, [&](auto tile_rows, auto tile_columns) HWY_ATTR {
    const auto make = [&](auto activation) HWY_ATTR {
      const auto take = [=](auto result, size_t row, size_t at) HWY_ATTR {
        if (row >= rows || at >= row_values) return;
        const Chunk d;
        const size_t to = row * row_values + at;
        if (by.addend) result = hn::Add(result, LoadHalves(d, by.addend + to));
        const auto slope = by.slopes ? hn::LoadU(d, by.slopes + at % 8) : hn::Set(d, by.slope);
        Activate(d, activation, slope, &result, 1);
        StoreHalves(d, result, by.to + to);
      };
      TransformAllSums<tile_rows, tile_columns>(sums, take);
    };
#if HWY_TARGET <= HWY_AVX2 || HWY_ARCH_ARM_A64
    WithActivation(by.activation, make);
#else
    make(by.activation);  // slower, in a quarter of the code
#endif
  });
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
                      const float* bias, float* to, size_t row) {
  HWY_DYNAMIC_DISPATCH(WinogradResults)(tile, from, position, tiles, bias, to, row);
}

void winograd_finished(WinogradTile tile, const float* from, size_t position, size_t tiles,
                       const float* bias, const RegisterFinish& finish, size_t rows,
                       size_t columns) {
  HWY_DYNAMIC_DISPATCH(WinogradFinished)(tile, from, position, tiles, bias, &finish, rows, columns);
}

}  // namespace dvnn::softdv
#endif  // HWY_ONCE
