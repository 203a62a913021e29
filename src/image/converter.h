// SPDX-License-Identifier: Apache-2.0
// Converts a frame to a tensor in one pass: selects the part, resamples, converts colours,
// normalises, transposes and rounds.
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

/// A frame's geometry and colorimetry, which the caps determine.
struct FrameFormat {
  PixelFormat format = PixelFormat::kRgb;
  int width = 0, height = 0;  // pixels, 1..32768
  // The visible part of the frame; width 0 means all of it.
  int crop_x = 0, crop_y = 0, crop_width = 0, crop_height = 0;
  int par_n = 1, par_d = 1;        // pixel aspect ratio, for letterbox and crop
  Matrix matrix = Matrix::kBt601;  // YUV formats only
  bool full_range = false;         // YUV formats only
};

/// A frame's pixels: the first row of each plane, and the bytes between rows.
struct FrameView {
  std::array<const uint8_t*, 3> planes{};
  std::array<int, 3> strides{};
};

struct StridedTensor;  // defined in tensor_writer.h

/// Converts the frames of one stream. create() decides everything that the caps determine.
/// convert() allocates nothing, and may be called from one thread at a time.
class Converter {
 public:
  /// `tensor` is {1, C, H, W} with C = 3, or 1 for gray. Errors: kInvalidArgument (sizes out of
  /// range), kUnsupported (unsupported combination).
  static Result<std::unique_ptr<Converter>> create(const FrameFormat& frame,
                                                   const TensorDesc& tensor, const InputSpec& input,
                                                   const View& view = {});
  /// Creates a converter to an input buffer of MathWorks' deep learning processor, of float32 or
  /// int8. `shape` is {1, C, H, W}; X are the picture's rows, Y its columns.
  static Result<std::unique_ptr<Converter>> create(const FrameFormat& frame,
                                                   const DlhdlLayout& layout, const Shape& shape,
                                                   ElementType type, const InputSpec& input,
                                                   const View& view = {});
  ~Converter();
  const Transform& transform() const { return shown().transform; }
  const Shown& shown() const;
  /// Returns the size of the tensor in bytes.
  size_t bytes() const;
  /// Writes the whole tensor to `out`. Before normalisation, bilinear resampling gives exactly the
  /// bytes of OpenCV's resize(INTER_LINEAR) on 8-bit images.
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
