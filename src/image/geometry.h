// SPDX-License-Identifier: Apache-2.0
// Maps parts of the frame to parts of the tensor, and determines which samples contribute to a
// pixel.
#pragma once

#include <vector>

#include "image/converter.h"

namespace dvnn::image {

struct Rect {
  int x = 0, y = 0, w = 0, h = 0;
};

/// The source's columns become the target's columns, or its rows with `swap_xy`; backwards if
/// flipped.
struct Geometry {
  Rect source;                                           // frame pixels
  Rect owned;                                            // part that may be read
  Rect target;                                           // tensor pixels
  bool swap_xy = false, flip_x = false, flip_y = false;  // flips of the source's axes

  /// Numbers of pixels that the source's columns and rows become.
  int columns() const { return swap_xy ? target.h : target.w; }
  int rows() const { return swap_xy ? target.w : target.h; }
  size_t row_pixels() const { return static_cast<size_t>(columns()); }
  Shown shown() const;
};

/// Returns the visible part of the frame, which is all of it unless it is cropped.
Rect whole_picture(const FrameFormat& frame);

/// Applies the view's orientation and region and the input's resize rule. The pixel aspect ratio
/// matters if the rule keeps the aspect.
Geometry plan_geometry(const FrameFormat& frame, int tensor_w, int tensor_h, const InputSpec& input,
                       const View& view);

/// An axis of a plane: `source_size` luma samples from `source_start` on become `target_size`
/// samples. In chroma planes `subsampling` is 2, and `siting` is the position of chroma sample 0 in
/// luma samples. Only the plane's samples from `plane_start` to before `plane_end` are read. `flip`
/// reverses the result.
struct AxisMapping {
  int source_start = 0, source_size = 0, target_size = 0;
  int subsampling = 1, plane_start = 0, plane_end = 0;
  double siting = 0;
  bool horizontal = true;
  bool flip = false;

  /// Sets the plane's part of an image with `size` luma samples from `start` on.
  void set_plane(int subsampled, int start, int size) {
    subsampling = subsampled;
    plane_start = start / subsampled;
    plane_end = (start + size + subsampled - 1) / subsampled;
  }
};

/// An output sample of bilinear or nearest resampling along an axis: two source indices with 11-bit
/// weights.
struct Tap {
  int first = 0, second = 0;
  int first_weight = 0, second_weight = 0;
};

constexpr int kWeightBits = 11;

/// Returns the taps along an axis, with OpenCV's sample centres, rounding and edges (imgproc
/// resize, INTER_LINEAR or INTER_NEAREST).
std::vector<Tap> make_taps(const AxisMapping& axis, ResizeMethod method);

/// An output sample of area resampling: `count` source samples from `first` on, with a weight each.
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
