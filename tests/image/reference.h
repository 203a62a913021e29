// SPDX-License-Identifier: Apache-2.0
// Frame conversion pixel by pixel in double precision, written from the definitions in
// tensor/input_spec.h, independently of the converter.
#pragma once

#include <cmath>

#include "frames.h"
#include "tensor/input_spec.h"
#include "tensor/tensor.h"

namespace reference {

using dvnn::ChannelOrder;
using dvnn::InputSpec;
using dvnn::ResizeMethod;
using dvnn::ResizeRule;
using dvnn::image::Orientation;
using frames::Frame;
using frames::Place;

/// One axis of the picture: source samples [start, start + size) become `target` pixels.
struct Axis {
  int start, size, target;
  bool flip;
};

struct Weight {
  int index;
  double weight;
};

/// Samples [first, end) of a plane that show the picture.
struct Samples {
  int first, end;
};

inline Samples samples_of(int start, int size, int sub) {
  return {start / sub, (start + size + sub - 1) / sub};
}

/// Returns the source samples of a plane that make pixel `i`, with their weights. The plane is
/// subsampled by `sub`, with sample 0 at luma position `siting`.
inline std::vector<Weight> weights(const Axis& axis, int i, int sub, double siting, Samples plane,
                                   ResizeMethod method) {
  if (axis.flip) i = axis.target - 1 - i;
  const double scale = 1.0 / (static_cast<double>(axis.target) / axis.size);
  if (method == ResizeMethod::kNearest) {
    const int luma = axis.start + std::min(static_cast<int>(std::floor(i * scale)), axis.size - 1);
    return {{std::min(luma / sub, plane.end - 1), 1.0}};
  }
  if (method == ResizeMethod::kArea && axis.target <= axis.size) {
    // A sample stands for the luma positions nearer to it than to its neighbours.
    std::vector<Weight> found;
    double total = 0;
    for (int k = plane.first; k < plane.end; ++k) {
      double from = k * sub + siting + 0.5 - sub / 2.0, to = from + sub;
      from = std::max(from, axis.start + i * scale);
      to = std::min(to, axis.start + (i + 1) * scale);
      if (to - from <= 1e-9) continue;
      found.push_back({k, to - from});
      total += to - from;
    }
    for (Weight& w : found) w.weight /= total;
    return found;
  }
  const double luma = (i + 0.5) * scale - 0.5;
  // Luma stays within the part that is shown; chroma samples at its edge may lie partly beside it.
  const int first = sub == 1 ? axis.start : plane.first,
            last = (sub == 1 ? axis.start + axis.size : plane.end) - 1;
  const double at = (axis.start + luma - siting) / sub;
  const int index = static_cast<int>(std::floor(at));
  return {{std::clamp(index, first, last), 1 - (at - index)},
          {std::clamp(index + 1, first, last), at - index}};
}

/// The converter's request.
struct Request : InputSpec {
  dvnn::image::View view;
};

struct Layout {
  Axis columns, rows;  // of the source
  int x, y, w, h;      // target in the tensor
  bool swap;
};

inline Layout layout_of(const Frame& frame, const Request& p, int tensor_w, int tensor_h) {
  const dvnn::image::FrameFormat& f = frame.format;
  const bool cropped = f.crop_width > 0;
  const int cx = cropped ? f.crop_x : 0, cy = cropped ? f.crop_y : 0;
  const int cw = cropped ? f.crop_width : f.width, ch = cropped ? f.crop_height : f.height;
  auto part = [](int start, int size, double from, double length, int* first, int* count) {
    const int a = std::min<int>(static_cast<int>(std::lround(from * size)), size - 1);
    const int b = static_cast<int>(std::lround((from + length) * size));
    *first = start + a;
    *count = std::clamp(b - a, 1, size - a);
  };
  int sx, sy, sw, sh;
  part(cx, cw, p.view.region.x, p.view.region.width, &sx, &sw);
  part(cy, ch, p.view.region.y, p.view.region.height, &sy, &sh);
  Layout l = {};
  bool flip_columns = false, flip_rows = false;
  switch (p.view.orientation) {  // by GstVideoOrientationMethod's definitions
    case Orientation::kIdentity:
      break;
    case Orientation::k90:
      l.swap = flip_rows = true;
      break;
    case Orientation::k180:
      flip_columns = flip_rows = true;
      break;
    case Orientation::k270:
      l.swap = flip_columns = true;
      break;
    case Orientation::kFlipX:
      flip_columns = true;
      break;
    case Orientation::kFlipY:
      flip_rows = true;
      break;
    case Orientation::kTranspose:
      l.swap = true;
      break;
    case Orientation::kAnti:
      l.swap = flip_columns = flip_rows = true;
      break;
  }
  const double par = static_cast<double>(f.par_n) / f.par_d;
  double shown_w = sw * par, shown_h = sh;
  if (l.swap) std::swap(shown_w, shown_h);
  l.w = tensor_w, l.h = tensor_h;
  if (p.resize == ResizeRule::kLetterbox || p.resize == ResizeRule::kLetterboxTopLeft) {
    const double scale = std::min(tensor_w / shown_w, tensor_h / shown_h);
    l.w = std::clamp<int>(static_cast<int>(std::lround(shown_w * scale)), 1, tensor_w);
    l.h = std::clamp<int>(static_cast<int>(std::lround(shown_h * scale)), 1, tensor_h);
    if (p.resize == ResizeRule::kLetterbox) l.x = (tensor_w - l.w) / 2, l.y = (tensor_h - l.h) / 2;
  } else if (p.resize == ResizeRule::kCrop) {
    const double scale = std::max(tensor_w / shown_w, tensor_h / shown_h);
    const double x_part = (l.swap ? tensor_h : tensor_w) / scale / par;
    const double y_part = (l.swap ? tensor_w : tensor_h) / scale;
    const int w = std::clamp<int>(static_cast<int>(std::lround(x_part)), 1, sw);
    const int h = std::clamp<int>(static_cast<int>(std::lround(y_part)), 1, sh);
    sx += (sw - w) / 2, sy += (sh - h) / 2, sw = w, sh = h;
  }
  l.columns = {sx, sw, l.swap ? l.h : l.w, flip_columns};
  l.rows = {sy, sh, l.swap ? l.w : l.h, flip_rows};
  return l;
}

/// Returns the levels of the tensor's pixels before normalisation, not rounded: c x h x w, with the
/// padding colour beside the picture.
inline std::vector<double> levels(const Frame& frame, const Request& p, const dvnn::Shape& shape) {
  const dvnn::image::FrameFormat& f = frame.format;
  const Layout l = layout_of(frame, p, shape.w(), shape.h());
  auto component = [&](int which, int column, int row) {
    const Place at = frames::place(f.format, which);
    const std::vector<Weight> xs =
        weights(l.columns, column, at.sub_x, 0,
                samples_of(f.crop_width > 0 ? f.crop_x : 0,
                           f.crop_width > 0 ? f.crop_width : f.width, at.sub_x),
                p.method);
    const std::vector<Weight> ys =
        weights(l.rows, row, at.sub_y, at.sub_y > 1 ? 0.5 : 0,
                samples_of(f.crop_width > 0 ? f.crop_y : 0,
                           f.crop_width > 0 ? f.crop_height : f.height, at.sub_y),
                p.method);
    double sum = 0;
    for (const Weight& y : ys) {
      for (const Weight& x : xs) sum += x.weight * y.weight * frame.sample(which, x.index, y.index);
    }
    return sum;
  };
  // ITU-R BT.601, BT.709, BT.2020.
  const double reds[] = {0.299, 0.2126, 0.2627}, blues[] = {0.114, 0.0722, 0.0593};
  const double kr = reds[static_cast<int>(f.matrix)], kb = blues[static_cast<int>(f.matrix)];
  const double gain = f.full_range ? 1 : 255.0 / 219, chroma = f.full_range ? 1 : 255.0 / 224;
  std::vector<double> out;
  for (int c = 0; c < shape.c(); ++c) {
    for (int ty = 0; ty < shape.h(); ++ty) {
      for (int tx = 0; tx < shape.w(); ++tx) {
        if (tx < l.x || ty < l.y || tx >= l.x + l.w || ty >= l.y + l.h) {
          out.push_back(p.pad_value[static_cast<size_t>(c)]);
          continue;
        }
        const int u = tx - l.x, v = ty - l.y;
        const int column = l.swap ? v : u, row = l.swap ? u : v;
        const int colour = p.order == ChannelOrder::kBgr ? 2 - c : c;
        double value = 0;
        if (frames::is_gray(f.format)) {
          value = component(0, column, row);
        } else if (!frames::is_yuv(f.format)) {
          value = p.order == ChannelOrder::kGray
                      ? 0.299 * component(0, column, row) + 0.587 * component(1, column, row) +
                            0.114 * component(2, column, row)
                      : component(colour, column, row);
        } else {
          const double luma = (component(0, column, row) - (f.full_range ? 0 : 16)) * gain;
          const double cb = (component(1, column, row) - 128) * chroma;
          const double cr = (component(2, column, row) - 128) * chroma;
          const double r = luma + 2 * (1 - kr) * cr, b = luma + 2 * (1 - kb) * cb;
          const double g = luma - (2 * (1 - kb) * kb * cb + 2 * (1 - kr) * kr * cr) / (1 - kr - kb);
          value = p.order == ChannelOrder::kGray ? luma : colour == 0 ? r : colour == 1 ? g : b;
        }
        out.push_back(std::clamp(value, 0.0, 255.0));
      }
    }
  }
  return out;
}

}  // namespace reference
