// SPDX-License-Identifier: Apache-2.0
// Frame -> tensor in one pass: pick the pixels, resample, colour-convert, normalise, transpose,
// round.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "base/result.h"
#include "image/pixel_formats.h"
#include "image/view.h"
#include "tensor/dlhdl.h"
#include "tensor/tensor.h"

namespace dvnn::image {

enum class Matrix : uint8_t { kBt601, kBt709, kBt2020 };

/// A frame's geometry and colorimetry; fixed by the caps.
struct FrameFormat {
  PixelFormat format = PixelFormat::kRgb;
  int width = 0, height = 0;  // pixels, 1..32768
  // The visible part of the frame; width 0 means all of it.
  int crop_x = 0, crop_y = 0, crop_width = 0, crop_height = 0;
  int par_n = 1, par_d = 1;        // pixel aspect ratio (used by letterbox and crop)
  Matrix matrix = Matrix::kBt601;  // YUV formats only
  bool full_range = false;         // YUV formats only
};

/// One frame's pixels: each plane's first row and the distance between its rows in bytes.
struct FrameView {
  std::array<const uint8_t*, 3> planes{};
  std::array<int, 3> strides{};
};

struct StridedTensor;  // where elements lie (tensor_writer.h)

/// Converts the frames of one stream. create() decides all that the caps allow to decide; convert()
/// allocates nothing and may be called from one thread at a time.
class Converter {
 public:
  /// `tensor` is {1, C, H, W} with C = 3, or 1 where the order is gray. Errors: kInvalidArgument
  /// (sizes out of range), kUnsupported (combination we cannot do).
  static Result<std::unique_ptr<Converter>> create(const FrameFormat& frame,
                                                   const TensorDesc& tensor, const InputSpec& input,
                                                   const View& view = {});
  /// The same for an input buffer of MathWorks' deep learning processor, of float32 or int8.
  /// `shape` is {1, C, H, W}; X is the rows of the picture, Y its columns.
  static Result<std::unique_ptr<Converter>> create(const FrameFormat& frame,
                                                   const DlhdlLayout& layout, const Shape& shape,
                                                   ElementType type, const InputSpec& input,
                                                   const View& view = {});
  ~Converter();
  const Transform& transform() const { return shown().transform; }
  const Shown& shown() const;
  /// Bytes of the tensor.
  size_t bytes() const;
  /// Writes the whole tensor to `out`. Bilinear resampling gives the very bytes of
  /// OpenCV's resize(INTER_LINEAR) on 8-bit images before normalisation.
  void convert(const FrameView& frame, uint8_t* out);

 private:
  Converter();
  static Result<std::unique_ptr<Converter>> create(const FrameFormat& frame,
                                                   const StridedTensor& tensor,
                                                   const InputSpec& input, const View& view);
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dvnn::image
