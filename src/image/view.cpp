// SPDX-License-Identifier: Apache-2.0
#include "image/view.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/format.h"

namespace dvnn::image {

AxisFlips axis_flips(Orientation orientation) {
  using O = Orientation;
  const O o = orientation;
  AxisFlips f;
  f.swap_xy = o == O::k90 || o == O::k270 || o == O::kTranspose || o == O::kAnti;
  f.flip_x = o == O::k180 || o == O::k270 || o == O::kFlipX || o == O::kAnti;
  f.flip_y = o == O::k90 || o == O::k180 || o == O::kFlipY || o == O::kAnti;
  return f;
}

Orientation orientation_of(const AxisFlips& flips) {
  for (int i = 0; i <= static_cast<int>(Orientation::kAnti); ++i) {
    const AxisFlips f = axis_flips(static_cast<Orientation>(i));
    if (f.swap_xy == flips.swap_xy && f.flip_x == flips.flip_x && f.flip_y == flips.flip_y) {
      return static_cast<Orientation>(i);
    }
  }
  return Orientation::kIdentity;
}

Status RelativeRect::check() const {
  constexpr double kRounding = 1e-9;
  // The comparison also refuses NaN.
  if (x >= 0 && y >= 0 && width > 0 && height > 0 && x + width <= 1 + kRounding &&
      y + height <= 1 + kRounding) {
    return {};
  }
  return Error{ErrorCode::kInvalidArgument,
               format("the region %g x %g at %g,%g is not within 0..1", width, height, x, y)};
}

bool operator==(const RelativeRect& a, const RelativeRect& b) {
  return a.x == b.x && a.y == b.y && a.width == b.width && a.height == b.height;
}

void Transform::apply(double* x, double* y) const {
  const double from_x = swap_xy ? *y : *x, from_y = swap_xy ? *x : *y;
  *x = scale_x * from_x + offset_x;
  *y = scale_y * from_y + offset_y;
}

void Transform::invert(double* x, double* y) const {
  *x = (*x - offset_x) / scale_x;
  *y = (*y - offset_y) / scale_y;
  if (swap_xy) std::swap(*x, *y);
}

static Corners in_order(Corners c) {
  if (c.x1 < c.x0) std::swap(c.x0, c.x1);
  if (c.y1 < c.y0) std::swap(c.y0, c.y1);
  return c;
}

Corners Transform::apply(const Corners& from) const {
  Corners c = from;
  apply(&c.x0, &c.y0);
  apply(&c.x1, &c.y1);
  return in_order(c);
}

Corners Transform::invert(const Corners& to) const {
  Corners c = to;
  invert(&c.x0, &c.y0);
  invert(&c.x1, &c.y1);
  return in_order(c);
}

Transform Transform::after(const Transform& change) const {
  // Along the old frame's axis: new = scale * old + offset, so old = (new - offset) / scale.
  struct Axis {
    double scale, offset;
  };
  const Axis along_new_x = {change.scale_x, change.offset_x};
  const Axis along_new_y = {change.scale_y, change.offset_y};
  const Axis old_x = change.swap_xy ? along_new_y : along_new_x;
  const Axis old_y = change.swap_xy ? along_new_x : along_new_y;
  const Axis x = swap_xy ? old_y : old_x, y = swap_xy ? old_x : old_y;
  Transform t;
  t.swap_xy = swap_xy != change.swap_xy;
  t.scale_x = scale_x / x.scale;
  t.offset_x = offset_x - t.scale_x * x.offset;
  t.scale_y = scale_y / y.scale;
  t.offset_y = offset_y - t.scale_y * y.offset;
  return t;
}

InputSpec View::apply(const InputSpec& input) const {
  InputSpec spec = input;
  spec.method = method.value_or(input.method);
  spec.resize = resize.value_or(input.resize);
  if (!pad_color) return spec;
  const std::array<uint8_t, 3> rgb = {{static_cast<uint8_t>(*pad_color >> 16),
                                       static_cast<uint8_t>(*pad_color >> 8),
                                       static_cast<uint8_t>(*pad_color)}};
  spec.pad_value = rgb;
  if (input.order == ChannelOrder::kBgr) spec.pad_value = {{rgb[2], rgb[1], rgb[0]}};
  if (input.order == ChannelOrder::kGray) {
    // ITU-R BT.601
    spec.pad_value[0] =
        static_cast<uint8_t>((299 * rgb[0] + 587 * rgb[1] + 114 * rgb[2] + 500) / 1000);
  }
  return spec;
}

// The orientation as a transform of directions, without offsets.
static Transform directions(Orientation orientation) {
  const AxisFlips f = axis_flips(orientation);
  Transform t;
  t.swap_xy = f.swap_xy;
  t.scale_x = (f.swap_xy ? f.flip_y : f.flip_x) ? -1 : 1;
  t.scale_y = (f.swap_xy ? f.flip_x : f.flip_y) ? -1 : 1;
  return t;
}

bool View::follow(const Transform& change, const Size& from, const Size& to) {
  const bool whole = region == RelativeRect{};
  const Corners old = {region.x * from.width, region.y * from.height,
                       (region.x + region.width) * from.width,
                       (region.y + region.height) * from.height};
  Corners now = change.apply(old);
  now = {std::clamp(now.x0, 0.0, to.width), std::clamp(now.y0, 0.0, to.height),
         std::clamp(now.x1, 0.0, to.width), std::clamp(now.y1, 0.0, to.height)};
  // A view of the whole frame stays a view of the whole frame, whatever was cut off or added.
  region = whole ? RelativeRect{}
                 : RelativeRect{now.x0 / to.width, now.y0 / to.height, (now.x1 - now.x0) / to.width,
                                (now.y1 - now.y0) / to.height};
  const Transform turned = directions(orientation).after(change);
  AxisFlips flips;
  flips.swap_xy = turned.swap_xy;
  flips.flip_x = (turned.swap_xy ? turned.scale_y : turned.scale_x) < 0;
  flips.flip_y = (turned.swap_xy ? turned.scale_x : turned.scale_y) < 0;
  orientation = orientation_of(flips);
  return region.width > 0 && region.height > 0;
}

bool operator==(const View& a, const View& b) {
  return a.region == b.region && a.orientation == b.orientation && a.resize == b.resize &&
         a.method == b.method && a.pad_color == b.pad_color && a.alone == b.alone;
}

}  // namespace dvnn::image
