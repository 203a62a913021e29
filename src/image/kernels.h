// SPDX-License-Identifier: Apache-2.0
// The vector code of frame conversion, row by row. Rows of 16-bit lanes may be read and written up
// to kRowPadding lanes beyond their end.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dvnn::image {

constexpr size_t kRowPadding = 64;

/// Where the two taps of four neighbouring lanes, a group, are found: in the 16 bytes at `base` of
/// the row. `pick` has 16 bytes a group: byte k is the index of the byte that becomes byte k of the
/// first (0..7) and second taps (8..15), or 0x80 for zero.
struct TapTable {
  const uint32_t* base;
  const uint8_t* pick;
};

/// Taps as 16-bit values with the sample in the high bits: for each group, the first taps, then the
/// second. Each group is put together from one entry of each of `parts` (1, 2 or 4) tables.
void pick_taps(const uint8_t* row, const TapTable* tables, int parts, size_t groups,
               uint16_t* taps);

/// (first tap * first_weight + second tap * second_weight) >> 16, after samples were shifted left
/// by `shift`. With weights of 1/32768, a lane is the interpolated value times 128 for samples of 8
/// bits, and exact but for the dropped bits.
void interpolate(const uint16_t* taps, const uint16_t* first_weight, const uint16_t* second_weight,
                 int shift, size_t lanes, uint16_t* out);

/// Two interpolated rows -> rounded levels 0..255. Weights of 1/2048. The very arithmetic of
/// OpenCV's resize (imgproc, 8-bit INTER_LINEAR).
void blend_levels(const uint16_t* above, const uint16_t* below, int above_weight, int below_weight,
                  size_t count, int16_t* levels);

/// The same without rounding to levels: value times 64.
void blend_fine(const uint16_t* above, const uint16_t* below, int above_weight, int below_weight,
                size_t count, uint16_t* out);

/// R = y Y + rv V + r0, G = y Y + gu U + gv V + g0, B = y Y + bu U + b0, on blend_fine()'s values.
/// luma0 is the offset of a gray level from y Y.
struct YuvMatrix {
  float y = 0, rv = 0, gu = 0, gv = 0, bu = 0, r0 = 0, g0 = 0, b0 = 0, luma0 = 0;
};

/// Rows of Y and of U and V, side by side in `u` if `v` is null -> levels of four lanes per pixel:
/// R, G, B (or B, G, R), 0.
void yuv_levels(const uint16_t* y, const uint16_t* u, const uint16_t* v, const YuvMatrix& matrix,
                bool bgr, size_t pixels, int16_t* levels);
/// y scale + offset, rounded and clamped: luma alone.
void luma_levels(const uint16_t* y, float scale, float offset, size_t count, int16_t* levels);

/// Levels -> (level - mean) * scale; means and scales of four neighbouring lanes.
void normalise_half(const int16_t* levels, const float mean[4], const float scale[4], size_t count,
                    uint16_t* out);
void normalise_float(const int16_t* levels, const float mean[4], const float scale[4], size_t count,
                     float* out);

}  // namespace dvnn::image
