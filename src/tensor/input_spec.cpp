// SPDX-License-Identifier: Apache-2.0
#include "tensor/input_spec.h"

#include "base/names.h"

namespace dvnn {
namespace {
constexpr const char* kOrderNames[] = {"rgb", "bgr", "gray"};
constexpr const char* kResizeNames[] = {"stretch", "letterbox", "letterbox-top-left", "crop"};
}  // namespace

const char* to_string(ChannelOrder order) {
  return kOrderNames[static_cast<int>(order)];
}
const char* to_string(ResizeRule rule) {
  return kResizeNames[static_cast<int>(rule)];
}

Result<ChannelOrder> parse_channel_order(std::string_view text) {
  return parse_name<ChannelOrder>(text, kOrderNames, "channel order");
}

Result<ResizeRule> parse_resize_rule(std::string_view text) {
  return parse_name<ResizeRule>(text, kResizeNames, "resize rule");
}

}  // namespace dvnn
