// SPDX-License-Identifier: Apache-2.0
// Layers that move, join, split and resample elements.
#pragma once

#include <vector>

#include "layers/attributes/layer_type.h"

namespace dvnn::layers {

/// Extends an array by elements: {before: [...], after: [...], mode: constant
/// (value)|edge|reflect|wrap}, one number per axis; negative ones cut elements off.
enum class BorderMode : uint8_t { kConstant, kEdge, kReflect, kWrap };
struct BorderAttributes {
  DVNN_LAYER_TYPE("Border");
  std::vector<int> before, after;
  BorderMode mode = BorderMode::kConstant;
  float value = 0;
};

/// Channels of pictures of one size: channel i of the result is channel {channels}[i] of input
/// {inputs}[i].
struct ChannelGatherAttributes {
  DVNN_LAYER_TYPE("ChannelGather");
  struct Channel {
    int input, channel;
  };
  std::vector<Channel> channels;
};

/// Joins the inputs along {axis}.
struct ConcatAttributes {
  DVNN_LAYER_TYPE("Concat");
  int axis = 1;
};

/// Elements of the first input along {axis} at the indices in the second; negative ones count from
/// the end, and indices beyond the axis are clamped to it.
struct GatherAttributes {
  DVNN_LAYER_TYPE("Gather");
  int axis = 0;
};

/// Samples the first input, (n, c, [z,] y, x), at the coordinates in the second, (n, [z,] y, x, 2
/// or 3 coordinates, x first), -1..1 from one side to the other: {mode: nearest|linear|cubic,
/// padding: zeros|border|reflection, align_corners}. Source: ONNX GridSample.
struct GridSampleAttributes {
  DVNN_LAYER_TYPE("GridSample");
  enum class Mode : uint8_t { kNearest, kLinear, kCubic } mode = Mode::kLinear;
  enum class Padding : uint8_t { kZeros, kBorder, kReflection } padding = Padding::kZeros;
  bool align_corners = false;
};

/// Adds zeros around a picture: {left, right, top, bottom}.
struct PadAttributes {
  DVNN_LAYER_TYPE("Pad");
  int left = 0, right = 0, top = 0, bottom = 0;
};

/// Reorders axes: output axis i is input axis {order}[i].
struct PermuteAttributes {
  DVNN_LAYER_TYPE("Permute");
  std::vector<int> order;
};

/// Pixels of a picture of one row of {pixels}, (1, channels, 1, pixels): pixel i of the result is
/// pixel {places}[i]; -1: zeros.
struct PixelGatherAttributes {
  DVNN_LAYER_TYPE("PixelGather");
  int pixels = 1;
  std::vector<int> places;
};

/// The same elements in another shape, type or layout (also called Flatten). {dims} gives the shape
/// for inputs of another size: 0 keeps the input's dimension, -1 takes the rest. Running the layer
/// needs only the shapes.
struct ReshapeAttributes {
  DVNN_LAYER_TYPE("Reshape");
  std::vector<int> dims;
};

/// An array at other places along its axes, each axis by itself: {mode: nearest|linear|cubic,
/// coordinates: half_pixel|half_pixel_symmetric|asymmetric|align_corners|pytorch_half_pixel|
/// crop_and_resize|half_pixel_corner (ONNX: tf_half_pixel_for_nn; the middle of a result's pixel,
/// counted from the input's first corner), rounding: prefer_floor|prefer_ceil|floor|ceil|
/// ceil_where_smaller (nearest; the last is ceil along axes that shrink, and floor along others),
/// cubic_a, exclude_outside, antialias, extrapolation: the value outside (crop_and_resize), scales:
/// [...] or sizes: [...] or (where sizes are rounded from the scales) both, one per axis, roi:
/// [first per axis, then last per axis]}. Source: ONNX Resize.
struct ResizeAttributes {
  DVNN_LAYER_TYPE("Resize");
  enum class Mode : uint8_t { kNearest, kLinear, kCubic } mode = Mode::kNearest;
  enum class Coordinates : uint8_t {
    kHalfPixel,
    kHalfPixelSymmetric,
    kAsymmetric,
    kAlignCorners,
    kPytorchHalfPixel,
    kCropAndResize,
    kHalfPixelCorner
  } coordinates = Coordinates::kHalfPixel;
  enum class Rounding : uint8_t {
    kPreferFloor,
    kPreferCeil,
    kFloor,
    kCeil,
    kCeilWhereSmaller
  } rounding = Rounding::kPreferFloor;
  float cubic_a = -0.75f, extrapolation = 0;
  bool exclude_outside = false, antialias = false;
  std::vector<float> scales, roi;
  std::vector<int> sizes;
};

/// The first input with rows along its first axis replaced by the third input's rows or combined
/// with them, at the indices in the second: {operation: set|add|mul|max|min}. Negative indices
/// count from the end; rows beyond the axis are left out.
struct ScatterAttributes {
  DVNN_LAYER_TYPE("Scatter");
  enum class Operation : uint8_t { kSet, kAdd, kMul, kMax, kMin } operation = Operation::kSet;
};

/// Elements begin[i], begin[i] + step[i], ... along each axis: {begin: [...], step: [...]}; their
/// number is {count: [...]} (-1: to the end) and must match the output's shape.
struct SliceAttributes {
  DVNN_LAYER_TYPE("Slice");
  std::vector<int> begin, step, count;
};

/// Repeats the array {repeats}[i] times along axis i.
struct TileAttributes {
  DVNN_LAYER_TYPE("Tile");
  std::vector<int> repeats;
};

}  // namespace dvnn::layers
