// SPDX-License-Identifier: Apache-2.0
// The vector code from samples to tensor elements: colour conversion, normalisation, rounding. Rows
// may be read up to kRowPadding bytes (see resample.h) and elements written up to kElementPadding
// beyond their end.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/tensor.h"

namespace dvnn::image {

constexpr size_t kElementPadding = 64;

/// R = y Y + rv V + r0, G = y Y + gu U + gv V + g0, B = y Y + bu U + b0, of 0..255. luma0 is the offset of a gray level from y Y.
struct YuvMatrix {
  float y = 0, rv = 0, gu = 0, gv = 0, bu = 0, r0 = 0, g0 = 0, b0 = 0, luma0 = 0;
};

/// What the samples of a row are.
enum class SampleKind : uint8_t {
  kColours,    // bytes R, G, B, any
  kLevels,     // bytes: gray
  kYuvPlanar,  // floats: rows of Y, of U and of V
  kYuvPairs,   // floats: rows of Y and of (U, V)
};
struct SampleRow {
  SampleKind kind = SampleKind::kColours;
  const uint8_t* bytes = nullptr;
  const float *y = nullptr, *u = nullptr, *v = nullptr;
  YuvMatrix matrix;
};

/// Level -> element: (level - mean) * scale, which integers (uint8, int8) store as
/// value * steps + zero_point, to nearest and clamped. Levels are whole numbers of 0..255.
struct ElementRule {
  ElementType type = ElementType::kFloat16;
  float mean[3] = {}, scale[3] = {};  // of red, green, blue, or of gray
  float steps = 1, zero_point = 0;
};

/// A row of colour elements, one row of memory each for red, green and blue.
void colour_elements(const SampleRow& row, const ElementRule& rule, size_t pixels,
                     void* const out[3]);

/// A row of gray elements: luma by BT.601's weights (colours), or Y.
void gray_elements(const SampleRow& row, const ElementRule& rule, size_t pixels, void* out);

}  // namespace dvnn::image
