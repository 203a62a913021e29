// SPDX-License-Identifier: Apache-2.0
// An affine map: how a camera's motion moves what it shows from one frame to the next.
#pragma once

#include <cmath>

#include "image/view.h"

namespace dvnn::motion {

/// Maps places in pixels: x' = xx x + xy y + x0, y' = yx x + yy y + y0.
struct Affine {
  double xx = 1, xy = 0, x0 = 0;
  double yx = 0, yy = 1, y0 = 0;

  void apply(double* x, double* y) const {
    const double from_x = *x, from_y = *y;
    *x = xx * from_x + xy * from_y + x0;
    *y = yx * from_x + yy * from_y + y0;
  }
  /// Maps a vector, such as a speed, which has no place.
  void turn(double* x, double* y) const {
    const double from_x = *x, from_y = *y;
    *x = xx * from_x + xy * from_y;
    *y = yx * from_x + yy * from_y;
  }
  double determinant() const { return xx * yy - xy * yx; }
  /// Returns the factor of lengths.
  double scale() const { return std::sqrt(std::fabs(determinant())); }
  /// Maps a box: its centre moves and its size is scaled, but it is not rotated.
  image::Corners apply(const image::Corners& box) const {
    double x = (box.x0 + box.x1) / 2, y = (box.y0 + box.y1) / 2;
    apply(&x, &y);
    const double width = scale() * (box.x1 - box.x0) / 2;
    const double height = scale() * (box.y1 - box.y0) / 2;
    return {x - width, y - height, x + width, y + height};
  }
  /// Returns this motion followed by `next`.
  Affine then(const Affine& next) const {
    return {next.xx * xx + next.xy * yx,           next.xx * xy + next.xy * yy,
            next.xx * x0 + next.xy * y0 + next.x0, next.yx * xx + next.yy * yx,
            next.yx * xy + next.yy * yy,           next.yx * x0 + next.yy * y0 + next.y0};
  }
  /// Returns the inverse. The determinant must not be 0.
  Affine inverse() const {
    const double d = determinant();
    return {yy / d, -xy / d, (xy * y0 - yy * x0) / d, -yx / d, xx / d, (yx * x0 - xx * y0) / d};
  }
  bool is_identity() const {
    return xx == 1 && xy == 0 && x0 == 0 && yx == 0 && yy == 1 && y0 == 0;
  }
  /// Whether a camera may move so: values are finite, and areas change by less than a factor of 10.
  bool is_plausible() const {
    return std::isfinite(xx + xy + x0 + yx + yy + y0) && determinant() > 0.1 && determinant() < 10;
  }
};

}  // namespace dvnn::motion
