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

/// Tensor value = (pixel - mean[c]) * scale[c], where pixel is 0..255 and c counts in `order`.
struct PictureSpec {
  ChannelOrder order = ChannelOrder::kRgb;
  std::array<float, 3> mean{{0, 0, 0}};
  std::array<float, 3> scale{{1, 1, 1}};
  ResizeRule resize = ResizeRule::kStretch;
  std::array<uint8_t, 3> pad_value{{0, 0, 0}};  // in `order`, where no frame lies
};

const char* to_string(ChannelOrder order);  // "rgb", "bgr", "gray"
const char* to_string(ResizeRule rule);     // "stretch", "letterbox", "letterbox-top-left", "crop"
Result<ChannelOrder> parse_channel_order(std::string_view text);
Result<ResizeRule> parse_resize_rule(std::string_view text);

}  // namespace dvnn
