// SPDX-License-Identifier: Apache-2.0
// Vector code on rows of pixels: conversion of colours, sampling through a map, transposing.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dvnn::image {

// Conversion of samples to u8 pixels: rows of R, G, B, 0, or rows of gray bytes. Rows may be read
// and written up to kRowPadding bytes (see lanes.h) beyond their end.

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

// Sampling of a picture through an affine map, to rows of pixels R, G, B, 0: the picture may be
// turned, sheared or shrunk. Exactly the arithmetic of OpenCV's warpAffine (INTER_LINEAR, 8 bits),
// with positions in 1/32 of a pixel.

/// Bits of a pixel's fraction in computed positions.
constexpr int kWarpBits = 10;

/// A picture with a border of one pixel, which stands for everything beyond its edges.
struct WarpSource {
  const uint8_t* pixels = nullptr;  // upper left corner of the border; 4 bytes per pixel
  int pitch = 0;                    // pixels between rows
  int width = 0, height = 0;        // without the border
};

/// Places of a row's pixels in the source, in 1 / 2^kWarpBits of a pixel with pixel centres at
/// integers: pixel i is at x + dx[i], y + dy[i]. The lists and `out` may be read and written up to
/// kRowPadding bytes beyond their end; those bytes of the lists must be valid places, too.
struct WarpRow {
  int32_t x = 0, y = 0;
  const int32_t *dx = nullptr, *dy = nullptr;
};

void warp_row(const WarpSource& source, const WarpRow& row, size_t count, uint8_t* out);

/// Transposes: element (r, x) of `rows` x `columns` elements of `size` bytes (1 or 4), with `pitch`
/// elements between rows, goes to to[x * stride + r]. Writes nothing else.
void transpose(const void* from, size_t pitch, size_t rows, size_t columns, size_t size, void* to,
               size_t stride);

/// Returns Highway's name of the vector instructions that this folder's code uses on this CPU:
/// "AVX2".
const char* vector_target();

}  // namespace dvnn::image
