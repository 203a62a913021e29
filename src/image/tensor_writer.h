// SPDX-License-Identifier: Apache-2.0
// Writes rows of u8 samples to the tensor: normalised, rounded, in its layout. Vector code
// (elements.cpp) converts samples to elements.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/aligned.h"
#include "image/geometry.h"
#include "tensor/dlhdl.h"
#include "tensor/input_spec.h"
#include "tensor/tensor.h"

namespace dvnn::image {

/// Conversion of a sample to an element: (level - mean) * scale, stored as integers (uint8, int8)
/// by value * steps + zero_point, rounded to nearest and clamped.
struct ElementRule {
  /// `channels`: 1 (gray bytes) or 3 (pixels, see vectors.h).
  ElementRule(ElementType type, int channels, const InputSpec& picture);
  ElementRule() = default;
  /// Writes the element of a sample in the tensor's channel `channel`, element_size(type) bytes.
  void put(int level, int channel, uint8_t* to) const;

  ElementType type = ElementType::kFloat16;
  int channels = 3;
  bool bgr = false;  // whether the tensor's first channel is blue
  float steps = 1, zero_point = 0;
  // Number of consecutive elements, with interleaved channels, after which the pattern repeats.
  static constexpr size_t kPattern = 48;
  alignas(64) float mean[kPattern] = {}, scale[kPattern] = {};
  // Set if all channels have the same rule: the bytes of each sample's FP16 element, for lookup.
  bool has_halves = false;
  alignas(64) uint8_t half_low[256] = {}, half_high[256] = {};
};

/// Layout of a run's elements: channel c of pixel k is at k * step + channel[c].
struct PixelSteps {
  ptrdiff_t step = 0;
  ptrdiff_t channel[3] = {};
};

/// Runs of samples that are consecutive in a tensor.
struct Runs {
  size_t count;          // runs
  size_t length;         // pixels of a run
  size_t pitch;          // bytes between runs; up to kRunPadding bytes beyond a run are read
  ptrdiff_t out_stride;  // elements between runs in the tensor
  PixelSteps pixels;     // in elements
};
constexpr size_t kRunPadding = 64;

/// Writes runs of pixels or gray bytes to `out`, and nothing between them.
void store_runs(const uint8_t* levels, const Runs& runs, const ElementRule& rule, uint8_t* out);

/// A tensor with regular distances between elements: channel c of pixel (x, y) is at x * stride_x +
/// y * stride_y + channel[c].
struct StridedTensor {
  ElementType type = ElementType::kFloat16;
  int width = 0, height = 0, channels = 3;
  int64_t stride_x = 0, stride_y = 0;
  int64_t channel[3] = {};
  size_t elements = 0;    // number of elements in the buffer
  bool has_gaps = false;  // whether some of them belong to no pixel, and are zero
};
StridedTensor strided(const TensorDesc& tensor);
StridedTensor strided(const DlhdlLayout& layout, const Shape& shape, ElementType type);

class TensorWriter {
 public:
  /// The target of `geometry` is the part of the tensor that the rows cover. Rows are the source's:
  /// if the picture is turned, they become columns of the tensor.
  void prepare(const StridedTensor& tensor, const InputSpec& picture, const Geometry& geometry);
  /// Returns the buffer of row `y`: pixels, or gray bytes if the tensor has one channel (see
  /// vectors.h).
  uint8_t* row(int y) { return &levels_[static_cast<size_t>(kUnitRows + y % kBlockRows) * pitch_]; }
  /// Takes row `y`, which must be the next one. The last one completes the target.
  void take(int y, uint8_t* out);
  /// Fills the part outside the target with the padding colour, and gaps with zeros. Call it before
  /// the first row.
  void fill_borders(uint8_t* out) const;

 private:
  // If rows of samples are columns in memory, several are stored together, which makes longer runs.
  static constexpr int kBlockRows = 32, kUnitRows = 16;
  // Columns that are transposed at a time, so that they fit the first-level cache.
  static constexpr size_t kBlockColumns = 64;

  uint8_t* at(uint8_t* out, int column, int row) const;
  void store_row(int y, uint8_t* out);
  void store_columns(const uint8_t* levels, int y, int rows, uint8_t* out);

  StridedTensor tensor_;
  Rect target_;
  size_t columns_ = 0;
  int rows_ = 0;
  size_t size_ = 2;  // bytes of an element
  // Steps between columns and between rows of samples: the strides of x and y, or swapped.
  int64_t along_ = 0, across_ = 0;
  PixelSteps steps_;  // steps along a run: the smaller stride
  ElementRule rule_;
  uint8_t pad_[3][4] = {};         // elements of the padding colour
  size_t pixel_bytes_ = 4;         // bytes of a pixel in a row of samples
  size_t pitch_ = 0;               // bytes of such a row
  AlignedVector<uint8_t> levels_;  // a block of rows, preceded by room for a unit
  AlignedVector<uint8_t> turned_;  // some columns of it, transposed
};

}  // namespace dvnn::image
