// SPDX-License-Identifier: Apache-2.0
// Describes how a frame is converted to a network's input tensor. Networks specify it and src/image
// does it; an image::View says which part of a frame is used.
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
  kArea,      // samples weighted by area; axes that grow are bilinear
};

/// Value of the tensor = (pixel - mean[c]) * scale[c], where pixel is 0..255 and c is in `order`.
/// Integer tensors hold value / quant_scale + zero_point, rounded to nearest and clamped.
struct InputSpec {
  ChannelOrder order = ChannelOrder::kRgb;
  std::array<float, 3> mean{{0, 0, 0}};
  std::array<float, 3> scale{{1, 1, 1}};
  ResizeRule resize = ResizeRule::kStretch;
  std::array<uint8_t, 3> pad_value{{0, 0, 0}};  // in `order`; fills the part without a picture
  ResizeMethod method = ResizeMethod::kBilinear;
  bool transposed = false;  // the picture's rows become the tensor's columns
  float quant_scale = 1;
  int zero_point = 0;
};

const char* to_string(ChannelOrder order);  // "rgb", "bgr", "gray"
const char* to_string(ResizeRule rule);     // "stretch", "letterbox", "letterbox-top-left", "crop"
Result<ChannelOrder> parse_channel_order(std::string_view text);
Result<ResizeRule> parse_resize_rule(std::string_view text);

}  // namespace dvnn
