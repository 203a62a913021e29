// SPDX-License-Identifier: Apache-2.0
#include "image/view.h"

#include <array>
#include <cstddef>
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

bool RelativeRect::is_within() const {
  constexpr double kRounding = 1e-9;
  // NaN fails the comparison, too.
  return x >= 0 && y >= 0 && width > 0 && height > 0 && x + width <= 1 + kRounding &&
         y + height <= 1 + kRounding;
}

Status RelativeRect::check() const {
  if (is_within()) return {};
  return invalid_argument(
      format("the region %g x %g at %g,%g is not within 0..1", width, height, x, y));
}

Status RelativeRect::check_reach() const {
  constexpr double kLargest = 1000;  // frames
  if (width > 0 && height > 0 && x < 1 && y < 1 && x + width > 0 && y + height > 0 &&
      width <= kLargest && height <= kLargest) {
    return {};
  }
  return invalid_argument(
      format("the region %g x %g at %g,%g shows nothing of the frame, or lies far beyond", width,
             height, x, y));
}

bool operator==(const RelativeRect& a, const RelativeRect& b) {
  return a.x == b.x && a.y == b.y && a.width == b.width && a.height == b.height;
}

bool operator==(const Corners& a, const Corners& b) {
  return a.x0 == b.x0 && a.y0 == b.y0 && a.x1 == b.x1 && a.y1 == b.y1;
}

Status Slant::check() const {
  constexpr double kFarthest = 1000;  // frames
  for (const double value : {x0, y0, x1, y1, x2, y2}) {
    if (!(std::abs(value) <= kFarthest)) {
      return invalid_argument("an oriented region lies far beyond the frame");
    }
  }
  const double area = (x1 - x0) * (y2 - y0) - (x2 - x0) * (y1 - y0);
  if (std::abs(area) > 1e-9) return {};
  return invalid_argument("an oriented region has no area");
}

bool operator==(const Slant& a, const Slant& b) {
  return a.x0 == b.x0 && a.y0 == b.y0 && a.x1 == b.x1 && a.y1 == b.y1 && a.x2 == b.x2 &&
         a.y2 == b.y2;
}

void Transform::apply(double* x, double* y) const {
  if (is_sheared()) {
    const double from_x = *x, from_y = *y;
    *x = scale_x * from_x + shear_x * from_y + offset_x;
    *y = shear_y * from_x + scale_y * from_y + offset_y;
    return;
  }
  const double from_x = swap_xy ? *y : *x, from_y = swap_xy ? *x : *y;
  *x = scale_x * from_x + offset_x;
  *y = scale_y * from_y + offset_y;
}

void Transform::invert(double* x, double* y) const {
  if (is_sheared()) {
    const double to_x = *x - offset_x, to_y = *y - offset_y;
    const double area = scale_x * scale_y - shear_x * shear_y;
    *x = (scale_y * to_x - shear_x * to_y) / area;
    *y = (scale_x * to_y - shear_y * to_x) / area;
    return;
  }
  *x = (*x - offset_x) / scale_x;
  *y = (*y - offset_y) / scale_y;
  if (swap_xy) std::swap(*x, *y);
}

static Corners in_order(Corners c) {
  if (c.x1 < c.x0) std::swap(c.x0, c.x1);
  if (c.y1 < c.y0) std::swap(c.y0, c.y1);
  return c;
}

// Returns the box around the four corners of `c`, after each was moved by `move`.
template <typename Move>
static Corners box_around(const Corners& c, Move move) {
  std::array<double, 4> x = {c.x0, c.x1, c.x1, c.x0}, y = {c.y0, c.y0, c.y1, c.y1};
  for (size_t i = 0; i < 4; ++i) move(&x[i], &y[i]);
  const auto across = std::minmax_element(x.begin(), x.end());
  const auto down = std::minmax_element(y.begin(), y.end());
  return {*across.first, *down.first, *across.second, *down.second};
}

Corners Transform::apply(const Corners& from) const {
  if (is_sheared()) return box_around(from, [this](double* x, double* y) { apply(x, y); });
  Corners c = from;
  apply(&c.x0, &c.y0);
  apply(&c.x1, &c.y1);
  return in_order(c);
}

Corners Transform::invert(const Corners& to) const {
  if (is_sheared()) return box_around(to, [this](double* x, double* y) { invert(x, y); });
  Corners c = to;
  invert(&c.x0, &c.y0);
  invert(&c.x1, &c.y1);
  return in_order(c);
}

// Computes the transform from the places to which it maps three points of the new frame.
static Transform sheared_after(const Transform& to_tensor, const Transform& change) {
  const auto at = [&](double x, double y) {
    change.invert(&x, &y);
    to_tensor.apply(&x, &y);
    return std::pair<double, double>(x, y);
  };
  const auto origin = at(0, 0), right = at(1, 0), down = at(0, 1);
  Transform t;
  t.offset_x = origin.first;
  t.offset_y = origin.second;
  t.scale_x = right.first - origin.first;
  t.shear_y = right.second - origin.second;
  t.shear_x = down.first - origin.first;
  t.scale_y = down.second - origin.second;
  return t;
}

Transform Transform::after(const Transform& change) const {
  if (is_sheared() || change.is_sheared()) return sheared_after(*this, change);
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

// Returns the orientation as a transform of directions, without offsets.
static Transform directions(Orientation orientation) {
  const AxisFlips f = axis_flips(orientation);
  Transform t;
  t.swap_xy = f.swap_xy;
  t.scale_x = (f.swap_xy ? f.flip_y : f.flip_x) ? -1 : 1;
  t.scale_y = (f.swap_xy ? f.flip_x : f.flip_y) ? -1 : 1;
  return t;
}

bool View::follow(const Transform& change, const Size& from, const Size& to) {
  if (slant) {
    const auto move = [&](double* x, double* y) {
      *x *= from.width;
      *y *= from.height;
      change.apply(x, y);
      *x /= to.width;
      *y /= to.height;
    };
    move(&slant->x0, &slant->y0);
    move(&slant->x1, &slant->y1);
    move(&slant->x2, &slant->y2);
    if (!slant->check().ok()) return false;
  }
  const bool whole = region == RelativeRect{};
  const Corners old = {region.x * from.width, region.y * from.height,
                       (region.x + region.width) * from.width,
                       (region.y + region.height) * from.height};
  Corners now = change.apply(old);
  // A region that reached beyond the old frame may reach beyond the new one.
  if (region.is_within()) {
    now = {std::clamp(now.x0, 0.0, to.width), std::clamp(now.y0, 0.0, to.height),
           std::clamp(now.x1, 0.0, to.width), std::clamp(now.y1, 0.0, to.height)};
  }
  // A view of the whole frame stays one, whatever was cropped or added.
  region = whole ? RelativeRect{}
                 : RelativeRect{now.x0 / to.width, now.y0 / to.height, (now.x1 - now.x0) / to.width,
                                (now.y1 - now.y0) / to.height};
  const Transform turned = directions(orientation).after(change);
  AxisFlips flips;
  flips.swap_xy = turned.swap_xy;
  flips.flip_x = (turned.swap_xy ? turned.scale_y : turned.scale_x) < 0;
  flips.flip_y = (turned.swap_xy ? turned.scale_x : turned.scale_y) < 0;
  orientation = orientation_of(flips);
  return region.check_reach().ok();
}

bool operator==(const View& a, const View& b) {
  return a.region == b.region && a.orientation == b.orientation && a.resize == b.resize &&
         a.method == b.method && a.pad_color == b.pad_color && a.alone == b.alone &&
         a.slant == b.slant;
}

CellTurn turn_of(const Transform& change) {
  return {change.swap_xy, change.scale_x < 0, change.scale_y < 0};
}

// Scales belong to the axes of apply()'s result, so for the inverse they are swapped last.
CellTurn turn_back(const Transform& change) {
  const bool x = change.scale_x < 0, y = change.scale_y < 0;
  return change.swap_xy ? CellTurn{true, y, x} : CellTurn{false, x, y};
}

void turn_cells(const CellTurn& turn, const uint8_t* from, int width, int height, uint8_t* to) {
  const int columns = turn.swap_xy ? height : width, rows = turn.swap_xy ? width : height;
  for (int y = 0; y < rows; ++y) {
    const int v = turn.mirror_y ? rows - 1 - y : y;
    for (int x = 0; x < columns; ++x) {
      const int u = turn.mirror_x ? columns - 1 - x : x;
      const int column = turn.swap_xy ? v : u, row = turn.swap_xy ? u : v;
      *to++ = from[static_cast<ptrdiff_t>(row) * width + column];
    }
  }
}

}  // namespace dvnn::image
