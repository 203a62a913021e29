// SPDX-License-Identifier: Apache-2.0
// How a picture becomes a network's input tensor. Networks state it, src/image does it.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace dvnn {

enum class ChannelOrder : uint8_t { kRgb, kBgr, kGray };

enum class ResizeRule : uint8_t {
  kStretch,           // the whole frame onto the whole tensor
  kLetterbox,         // aspect kept, centred, the rest filled with `pad_value`
  kLetterboxTopLeft,  // aspect kept, at the top left corner, the rest filled
  kCrop,              // aspect kept, the frame's centre fills the tensor
};

enum class ResizeMethod : uint8_t {
  kBilinear,  // as OpenCV's INTER_LINEAR: two samples per axis, whatever the scale
  kNearest,   // as OpenCV's INTER_NEAREST
  kArea,      // each sample weighs as much of itself as an output pixel covers; enlarged axes are
              // bilinear
};

/// Turns and flips, named as GStreamer's video orientations are; numbers are clockwise degrees.
enum class Orientation : uint8_t { kIdentity, k90, k180, k270, kFlipX, kFlipY, kTranspose, kAnti };

/// A part of a frame, in fractions of its width and height.
struct RelativeRect {
  double x = 0, y = 0, width = 1, height = 1;
};

/// Tensor value = (pixel - mean[c]) * scale[c], where pixel is 0..255 and c counts in `order`.
/// Integer tensors hold value / quant_scale + zero_point, rounded to nearest and clamped.
struct PictureSpec {
  ChannelOrder order = ChannelOrder::kRgb;
  std::array<float, 3> mean{{0, 0, 0}};
  std::array<float, 3> scale{{1, 1, 1}};
  ResizeRule resize = ResizeRule::kStretch;
  std::array<uint8_t, 3> pad_value{{0, 0, 0}};  // in `order`, where no frame lies
  ResizeMethod method = ResizeMethod::kBilinear;
  Orientation orientation = Orientation::kIdentity;  // of the picture before it is resized
  RelativeRect roi;                                  // the part of the frame that is the picture
  float quant_scale = 1;
  int zero_point = 0;
};

const char* to_string(ChannelOrder order);   // "rgb", "bgr", "gray"
const char* to_string(ResizeRule rule);      // "stretch", "letterbox", "letterbox-top-left", "crop"
const char* to_string(ResizeMethod method);  // "bilinear", "nearest", "area"
Result<ChannelOrder> parse_channel_order(std::string_view text);
Result<ResizeRule> parse_resize_rule(std::string_view text);
Result<ResizeMethod> parse_resize_method(std::string_view text);

}  // namespace dvnn
