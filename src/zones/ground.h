// SPDX-License-Identifier: Apache-2.0
// The ground that a camera looks at, as a plane in metres: where a place of the picture lies on it,
// how well that is known, and how much of an area there an object covers. docs/ground.md has the
// fields by which users describe it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"
#include "image/view.h"
#include "zones/geometry.h"

namespace dvnn::zones {

/// A place on the ground in metres, along the axes that the description chose.
struct Metres {
  double x = 0, y = 0;
};

/// A place on the ground and how it depends on the place in the picture.
struct OnGround {
  Metres at;
  // Metres per pixel: of x by the picture's x and y, and of y.
  double xx = 0, xy = 0, yx = 0, yy = 0;
};

/// Units of a description's places in the picture.
enum class GroundUnit : uint8_t {
  kFractions,  // of the frame's width and height
  kPixels,
  kWidths,  // of the frame's width along both axes, from its centre
};

/// A plane seen by a camera without distortion: a homography from the picture to the ground.
struct Ground {
  // Row by row, from (x, y, 1) in `unit` to metres. The third row is above 0 on the ground, and 0
  // at the horizon.
  std::array<double, 9> to_metres{};
  GroundUnit unit = GroundUnit::kFractions;
  size_t pairs = 0;  // from which it was made; 0: from a camera's height and tilt
  // How far, in metres, the plane puts the pairs from their places: root of the mean square, the
  // largest one, and that pair's index.
  double residual = 0, worst = 0;
  size_t worst_pair = 0;
};

/// Reads the member `ground` of zones. `what` names it in errors.
Result<Ground> read_ground(const Json& json, const std::string& what);

/// Returns one line about how well the description fits itself: "6 pairs meet within 0.08 m (worst
/// 0.15 m, pair 3)"; of exactly 4 pairs, which always meet, it says so.
std::string fit_of(const Ground& ground);

/// Returns where a place in a frame, in pixels, lies on the ground; nothing at and beyond the
/// horizon, or farther than `kFarthestMetres` away.
std::optional<OnGround> on_ground(const Ground& ground, const image::Size& frame, double x,
                                  double y);
constexpr double kFarthestMetres = 1e5;

/// How much of an area an object covers: on the ground, or in the picture.
class Cover {
 public:
  /// Sets the area, its corners in the frame's pixels. With a ground on which all of them lie, it
  /// is compared in metres, otherwise in the picture.
  void configure(const std::vector<Point>& area, const std::optional<Ground>& ground,
                 const image::Size& frame);
  bool on_the_ground() const { return ground_.has_value(); }
  /// Returns the share of the area that an object with this box covers, 0..1. On the ground that is
  /// a square as wide as the box's lower edge, which it stands behind.
  double share(const image::Corners& box) const;

 private:
  std::vector<Corner> area_;
  double size_ = 0;
  std::optional<Ground> ground_;
  image::Size frame_;
};

}  // namespace dvnn::zones
