// SPDX-License-Identifier: Apache-2.0
// Vector code that converts samples to u8 pixels: rows of R, G, B, 0, or rows of gray bytes. Rows
// may be read and written up to kRowPadding bytes (see resample.h) beyond their end.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dvnn::image {

/// R = y Y + rv V + r0, G = y Y + gu U + gv V + g0, B = y Y + bu U + b0, each 0..255. Gray is y Y +
/// luma0.
struct YuvMatrix {
  float y = 0, rv = 0, gu = 0, gv = 0, bu = 0, r0 = 0, g0 = 0, b0 = 0, luma0 = 0;
};

/// Rows of unrounded samples: Y, U and V, or (U, V) pairs in `u` if `v` is null.
struct YuvRow {
  const float *y = nullptr, *u = nullptr, *v = nullptr;
};

void yuv_to_pixels(const YuvRow& row, const YuvMatrix& matrix, size_t count, uint8_t* pixels);
void yuv_to_gray(const YuvRow& row, const YuvMatrix& matrix, size_t count, uint8_t* gray);
void gray_to_pixels(const uint8_t* gray, size_t count, uint8_t* pixels);
/// Computes luma with the weights of ITU-R BT.601.
void pixels_to_gray(const uint8_t* pixels, size_t count, uint8_t* gray);
/// Rounds values of 0..255 to u8.
void round_to_levels(const float* values, size_t count, uint8_t* levels);

}  // namespace dvnn::image
