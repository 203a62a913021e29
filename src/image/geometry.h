// SPDX-License-Identifier: Apache-2.0
// Maps parts of the frame to parts of the tensor, and says which samples make a pixel.
#pragma once

#include <vector>

#include "image/converter.h"

namespace dvnn::image {

struct Rect {
  int x = 0, y = 0, w = 0, h = 0;
};

/// The source's columns go along the target's rows or, if `swap_xy`, its columns; forwards or, if
/// flipped, backwards.
struct Geometry {
  Rect source;                                           // frame pixels
  Rect owned;                                            // that may be read
  Rect target;                                           // tensor pixels
  bool swap_xy = false, flip_x = false, flip_y = false;  // flips of the source's axes

  /// Pixels that the source's columns and rows become.
  int columns() const { return swap_xy ? target.h : target.w; }
  int rows() const { return swap_xy ? target.w : target.h; }
  size_t row_pixels() const { return static_cast<size_t>(columns()); }
  Shown shown() const;
};

/// The visible part of the frame: all of it, unless it is cropped.
Rect whole_picture(const FrameFormat& frame);

/// Applies the view's orientation and region and the input's resize rule; the pixel aspect ratio
/// counts where the aspect is kept.
Geometry plan_geometry(const FrameFormat& frame, int tensor_w, int tensor_h, const InputSpec& input,
                       const View& view);

/// One axis of a plane. `source_size` luma samples from `source_start` on become `target_size`
/// samples. In chroma planes `subsampling` is 2 and `siting` is the position of chroma sample 0 in
/// luma samples. The image owns the plane's samples `plane_start` to `plane_end`; no sample beside
/// them is read. `flip` reverses the result.
struct AxisMapping {
  int source_start = 0, source_size = 0, target_size = 0;
  int subsampling = 1, plane_start = 0, plane_end = 0;
  double siting = 0;
  bool horizontal = true;
  bool flip = false;

  /// Sets the plane's part for an image of `size` luma samples from `start` on.
  void set_plane(int subsampled, int start, int size) {
    subsampling = subsampled;
    plane_start = start / subsampled;
    plane_end = (start + size + subsampled - 1) / subsampled;
  }
};

/// One output sample of bilinear or nearest resampling along an axis: two source indices, 11-bit
/// weights.
struct Tap {
  int first = 0, second = 0;
  int first_weight = 0, second_weight = 0;
};

constexpr int kWeightBits = 11;

/// Taps along an axis with OpenCV's sample centres, rounding and edges (imgproc resize,
/// INTER_LINEAR or INTER_NEAREST).
std::vector<Tap> make_taps(const AxisMapping& axis, ResizeMethod method);

/// One output sample of area resampling: source samples from `first` on, with as many weights.
struct AreaTap {
  int first = 0, count = 0;
  int weight = 0;  // index of the first weight
};
struct AreaTaps {
  std::vector<AreaTap> taps;
  std::vector<float> weights;
};
AreaTaps make_area_taps(const AxisMapping& axis);

}  // namespace dvnn::image
