// SPDX-License-Identifier: Apache-2.0
// A view of a frame: which part of it the network looks at, and where that part is in the tensor.
// All arithmetic of boxes and points between frames and tensors is here, in both directions, and so
// is the update of a view, and of cells such as those of masks, when the frame is scaled, cropped
// or turned.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include "base/result.h"
#include "tensor/input_spec.h"

namespace dvnn::image {

/// Turns and flips, with the names of GStreamer's video orientations; numbers are clockwise
/// degrees.
enum class Orientation : uint8_t { kIdentity, k90, k180, k270, kFlipX, kFlipY, kTranspose, kAnti };

/// An orientation as a map of axes: with `swap_xy`, the tensor's rows run along the frame's y. The
/// flips are of the frame's axes.
struct AxisFlips {
  bool swap_xy = false, flip_x = false, flip_y = false;
};
AxisFlips axis_flips(Orientation orientation);
Orientation orientation_of(const AxisFlips& flips);

/// A part of a frame, in fractions of its width and height. That of a view may reach beyond the
/// frame.
struct RelativeRect {
  double x = 0, y = 0, width = 1, height = 1;

  /// Whether it has an area and is within 0..1.
  bool is_within() const;
  /// Returns kInvalidArgument if it is not within 0..1.
  Status check() const;
  /// Returns kInvalidArgument if no part is within 0..1, or if it reaches very far beyond.
  Status check_reach() const;
};
bool operator==(const RelativeRect& a, const RelativeRect& b);

/// A rectangle given by its edges.
struct Corners {
  double x0 = 0, y0 = 0, x1 = 0, y1 = 0;
};
bool operator==(const Corners& a, const Corners& b);
/// Whether a box has an area; false for NaN.
inline bool has_area(const Corners& box) {
  return box.x1 > box.x0 && box.y1 > box.y0;
}
/// Whether a box is a place: finite and with an area.
inline bool is_place(const Corners& box) {
  return std::isfinite(box.x0) && std::isfinite(box.y0) && std::isfinite(box.x1) &&
         std::isfinite(box.y1) && has_area(box);
}

/// The area of a box; 0 if its edges are not in order.
inline double area_of(const Corners& box) {
  return std::max(0.0, box.x1 - box.x0) * std::max(0.0, box.y1 - box.y0);
}
/// Whether two boxes have an area in common.
inline bool meet(const Corners& a, const Corners& b) {
  return a.x0 < b.x1 && b.x0 < a.x1 && a.y0 < b.y1 && b.y0 < a.y1;
}

struct Size {
  double width = 0, height = 0;
};

/// Maps one plane of pixels to another, in continuous coordinates with pixel edges at integers:
/// to_x = scale_x * from_x + offset_x, and likewise y. With `swap_xy` the planes are a quarter turn
/// apart, so to_x depends on from_y and to_y on from_x. Flips have negative scales.
struct Transform {
  double scale_x = 1, offset_x = 0, scale_y = 1, offset_y = 0;
  bool swap_xy = false;
  // Shear: to_x += shear_x * from_y, to_y += shear_y * from_x. Not combined with swap_xy.
  double shear_x = 0, shear_y = 0;

  bool is_sheared() const { return shear_x != 0 || shear_y != 0; }
  /// Returns the box around the mapped corners, in order (x0 <= x1, y0 <= y1) if `from` is.
  Corners apply(const Corners& from) const;
  Corners invert(const Corners& to) const;
  void apply(double* x, double* y) const;
  void invert(double* x, double* y) const;
  /// Returns the transform from the frame that `change` made of this one's frame.
  Transform after(const Transform& change) const;
};

/// A part of a frame as a tensor shows it.
struct Shown {
  Transform transform;  // from the frame's pixels to the tensor's
  Corners part;         // of the frame, in pixels
};

/// A parallelogram given by three corners, in fractions of a frame's width and height: the places
/// that the tensor's upper left, upper right and lower left corners show. It may reach beyond the
/// frame.
struct Slant {
  double x0 = 0, y0 = 0, x1 = 1, y1 = 0, x2 = 0, y2 = 1;

  /// Returns kInvalidArgument if it has no area or reaches very far beyond the frame.
  Status check() const;
};
bool operator==(const Slant& a, const Slant& b);

/// A view: which part of a frame is looked at, and how. Unset members follow the network.
struct View {
  RelativeRect region;  // its part beyond the frame has the padding colour
  Orientation orientation = Orientation::kIdentity;  // applied to the region before resizing
  std::optional<ResizeRule> resize;
  std::optional<ResizeMethod> method;
  std::optional<uint32_t> pad_color;  // 0xRRGGBB
  // Treats the region as a frame of its own: no pixel outside is read. Otherwise chroma at its
  // edges is interpolated with that outside.
  bool alone = false;
  // Parallelogram that is looked at instead of the region, bilinearly. It fills the tensor,
  // regardless of `resize` and `orientation`; its part beyond the frame has the padding colour.
  std::optional<Slant> slant;

  /// Returns `input` with the settings of this view.
  InputSpec apply(const InputSpec& input) const;
  /// Changes the view to look at the same part in a frame that `change` made. Returns false if
  /// nothing of the region is left. Sizes are the frames'.
  bool follow(const Transform& change, const Size& from, const Size& to);
};
bool operator==(const View& a, const View& b);

/// How the cells of a picture with one byte per cell change places: first the axes are swapped,
/// then the result is mirrored.
struct CellTurn {
  bool swap_xy = false, mirror_x = false, mirror_y = false;

  bool moves() const { return swap_xy || mirror_x || mirror_y; }
};

/// Returns the turn of cells whose place is mapped by change.apply(), or by change.invert().
CellTurn turn_of(const Transform& change);
CellTurn turn_back(const Transform& change);

/// Writes the turned cells to `to`, which has the same size and does not overlap. Rows are `width`
/// cells, from the top; with `swap_xy`, rows of the result are `height` cells.
void turn_cells(const CellTurn& turn, const uint8_t* from, int width, int height, uint8_t* to);

}  // namespace dvnn::image
