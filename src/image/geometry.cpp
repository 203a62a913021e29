// SPDX-License-Identifier: Apache-2.0
#include "image/geometry.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace dvnn::image {
namespace {

int rounded(double value, int max) {
  return std::clamp(static_cast<int>(std::lround(value)), 1, max);
}

// Returns the region in whole pixels of the frame.
Rect picture_rect(const FrameFormat& frame, const RelativeRect& roi) {
  const Rect all = whole_picture(frame);
  auto cut = [](int start, int size, double from, double part, int* out_start, int* out_size) {
    const int first = std::min(static_cast<int>(std::lround(from * size)), size - 1);
    const int last = static_cast<int>(std::lround((from + part) * size));
    *out_start = start + first;
    *out_size = std::clamp(last - first, 1, size - first);
  };
  Rect rect;
  cut(all.x, all.w, roi.x, roi.width, &rect.x, &rect.w);
  cut(all.y, all.h, roi.y, roi.height, &rect.y, &rect.h);
  return rect;
}

// Returns the centre of output sample i, in samples of the plane.
double sample_centre(const AxisMapping& axis, int i) {
  // The reciprocal of the quotient, as OpenCV computes it: equal to the last bit.
  const double scale = 1.0 / (static_cast<double>(axis.target_size) / axis.source_size);
  return (i + 0.5) * scale - 0.5;
}

Tap bilinear_tap(const AxisMapping& axis, int i) {
  constexpr int kOne = 1 << kWeightBits;
  float at = static_cast<float>(sample_centre(axis, i));
  if (axis.subsampling > 1) {
    // Positions are relative to the visible part, so that a cropped frame gives the same result as
    // its visible part alone.
    const int start = axis.source_start - axis.plane_start * axis.subsampling;
    at = static_cast<float>((at + start - axis.siting) / axis.subsampling);
  }
  int index = static_cast<int>(std::floor(at));
  float fraction = at - static_cast<float>(index);
  const int start = axis.subsampling > 1 ? axis.plane_start : axis.source_start;
  const int size = axis.subsampling > 1 ? axis.plane_end - axis.plane_start : axis.source_size;
  // As in OpenCV, one sample has the whole weight at the ends of rows, and at the ends of columns
  // both weights go to the same sample.
  if (axis.horizontal && index < 0) fraction = 0, index = 0;
  if (axis.horizontal && index >= size - 1) fraction = 0, index = size - 1;
  Tap tap;
  tap.first = start + std::clamp(index, 0, size - 1);
  tap.second = start + std::clamp(index + 1, 0, size - 1);
  tap.first_weight = static_cast<int>(std::lrint((1.0f - fraction) * kOne));
  tap.second_weight = static_cast<int>(std::lrint(fraction * kOne));
  return tap;
}

Tap nearest_tap(const AxisMapping& axis, int i) {
  const double scale = 1.0 / (static_cast<double>(axis.target_size) / axis.source_size);
  const int luma =
      axis.source_start + std::min(static_cast<int>(std::floor(i * scale)), axis.source_size - 1);
  const int index = std::min(luma / axis.subsampling, axis.plane_end - 1);
  return {index, index, 1 << kWeightBits, 0};
}

}  // namespace

Rect whole_picture(const FrameFormat& frame) {
  if (frame.crop_width == 0) return {0, 0, frame.width, frame.height};
  return {frame.crop_x, frame.crop_y, frame.crop_width, frame.crop_height};
}

Shown Geometry::shown() const {
  // Along the source's axis: target = scale * source + offset.
  auto axis = [](int start, int size, int to, int to_size, bool flip, double* scale,
                 double* offset) {
    *scale = static_cast<double>(to_size) / size * (flip ? -1 : 1);
    *offset = (flip ? to + to_size : to) - start * *scale;
  };
  Transform t;
  t.swap_xy = swap_xy;
  if (swap_xy) {
    axis(source.y, source.h, target.x, target.w, flip_y, &t.scale_x, &t.offset_x);
    axis(source.x, source.w, target.y, target.h, flip_x, &t.scale_y, &t.offset_y);
  } else {
    axis(source.x, source.w, target.x, target.w, flip_x, &t.scale_x, &t.offset_x);
    axis(source.y, source.h, target.y, target.h, flip_y, &t.scale_y, &t.offset_y);
  }
  const double x = source.x, y = source.y;
  return {t, {x, y, x + source.w, y + source.h}};
}

// Returns the part of the tensor that shows a region which is not cropped, given its displayed
// size.
static Rect fitted(double shown_w, double shown_h, int tensor_w, int tensor_h, ResizeRule rule) {
  Rect target = {0, 0, tensor_w, tensor_h};
  if (rule == ResizeRule::kStretch) return target;
  const double scale = std::min(tensor_w / shown_w, tensor_h / shown_h);
  target.w = rounded(shown_w * scale, tensor_w);
  target.h = rounded(shown_h * scale, tensor_h);
  if (rule == ResizeRule::kLetterbox) {
    target.x = (tensor_w - target.w) / 2;
    target.y = (tensor_h - target.h) / 2;
  }
  return target;
}

// A span along an axis of a frame or a tensor.
struct AxisSpan {
  double start = 0, size = 0;
};

// Reduces a source's span to the part within the frame, and the target's span to the part that
// shows it. If `flip`, that part is at the other end of the target.
static void keep_within(const AxisSpan& wanted, int first, int count, bool flip, int* start,
                        int* size, int* to, int* to_size) {
  const double low = std::max(wanted.start, static_cast<double>(first)),
               high = std::min(wanted.start + wanted.size, static_cast<double>(first + count));
  *start = std::clamp(static_cast<int>(std::lround(low)), first, first + count - 1);
  *size = std::clamp(static_cast<int>(std::lround(high)) - *start, 1, first + count - *start);
  double from = (*start - wanted.start) / wanted.size,
         until = (*start + *size - wanted.start) / wanted.size;
  if (flip) {
    const double turned = 1 - until;
    until = 1 - from, from = turned;
  }
  const int last = *to + *to_size;
  const int begin = std::clamp(*to + static_cast<int>(std::lround(from * *to_size)), *to, last - 1);
  const int end = *to + static_cast<int>(std::lround(until * *to_size));
  *to = begin;
  *to_size = std::clamp(end - begin, 1, last - begin);
}

// Plans a region that reaches beyond the frame: all of it is fitted into the tensor, and the part
// within the frame is placed accordingly.
static Geometry plan_beyond(const FrameFormat& frame, int tensor_w, int tensor_h,
                            const InputSpec& input, const View& view, Geometry g) {
  const Rect all = whole_picture(frame);
  AxisSpan x = {all.x + view.region.x * all.w, view.region.width * all.w},
           y = {all.y + view.region.y * all.h, view.region.height * all.h};
  const double par = static_cast<double>(frame.par_n) / frame.par_d;
  const double shown_w = g.swap_xy ? y.size : x.size * par,
               shown_h = g.swap_xy ? x.size * par : y.size;
  g.target = {0, 0, tensor_w, tensor_h};
  if (input.resize == ResizeRule::kCrop) {
    const double scale = std::max(tensor_w / shown_w, tensor_h / shown_h);
    const double cut_w = tensor_w / scale, cut_h = tensor_h / scale;
    const auto cut = [](double size, AxisSpan* axis) {
      axis->start += (axis->size - size) / 2;
      axis->size = size;
    };
    cut((g.swap_xy ? cut_h : cut_w) / par, &x);
    cut(g.swap_xy ? cut_w : cut_h, &y);
  } else {
    g.target = fitted(shown_w, shown_h, tensor_w, tensor_h, input.resize);
  }
  Rect& t = g.target;
  keep_within(x, all.x, all.w, g.flip_x, &g.source.x, &g.source.w, g.swap_xy ? &t.y : &t.x,
              g.swap_xy ? &t.h : &t.w);
  keep_within(y, all.y, all.h, g.flip_y, &g.source.y, &g.source.h, g.swap_xy ? &t.x : &t.y,
              g.swap_xy ? &t.w : &t.h);
  g.owned = view.alone ? g.source : all;
  return g;
}

Geometry plan_geometry(const FrameFormat& frame, int tensor_w, int tensor_h, const InputSpec& input,
                       const View& view) {
  Geometry g;
  const AxisFlips flips = axis_flips(view.orientation);
  g.swap_xy = flips.swap_xy != input.transposed, g.flip_x = flips.flip_x, g.flip_y = flips.flip_y;
  if (!view.region.is_within()) {
    return plan_beyond(frame, tensor_w, tensor_h, input, view, g);
  }
  const Rect all = picture_rect(frame, view.region);
  g.source = all;
  g.owned = view.alone ? all : whole_picture(frame);
  g.target = {0, 0, tensor_w, tensor_h};
  const double par = static_cast<double>(frame.par_n) / frame.par_d;
  // Sizes of the region as displayed, after turning.
  double shown_w = all.w * par, shown_h = all.h;
  if (g.swap_xy) std::swap(shown_w, shown_h);
  if (input.resize != ResizeRule::kCrop) {
    g.target = fitted(shown_w, shown_h, tensor_w, tensor_h, input.resize);
    return g;
  }
  const double scale = std::max(tensor_w / shown_w, tensor_h / shown_h);
  double cut_w = tensor_w / scale, cut_h = tensor_h / scale;
  if (g.swap_xy) std::swap(cut_w, cut_h);
  g.source.w = rounded(cut_w / par, all.w);
  g.source.h = rounded(cut_h, all.h);
  g.source.x = all.x + (all.w - g.source.w) / 2;
  g.source.y = all.y + (all.h - g.source.h) / 2;
  return g;
}

std::vector<Tap> make_taps(const AxisMapping& axis, ResizeMethod method) {
  std::vector<Tap> taps;
  for (int i = 0; i < axis.target_size; ++i) {
    taps.push_back(method == ResizeMethod::kNearest ? nearest_tap(axis, i) : bilinear_tap(axis, i));
  }
  if (axis.flip) std::reverse(taps.begin(), taps.end());
  return taps;
}

AreaTaps make_area_taps(const AxisMapping& axis) {
  AreaTaps area;
  auto add = [&](int first, const std::vector<float>& weights) {
    area.taps.push_back(
        {first, static_cast<int>(weights.size()), static_cast<int>(area.weights.size())});
    area.weights.insert(area.weights.end(), weights.begin(), weights.end());
  };
  if (axis.target_size > axis.source_size) {
    constexpr float kUnit = 1.0f / (1 << kWeightBits);
    for (const Tap& tap : make_taps(axis, ResizeMethod::kBilinear)) {
      const float first = static_cast<float>(tap.first_weight) * kUnit,
                  second = static_cast<float>(tap.second_weight) * kUnit;
      if (tap.second > tap.first) {
        add(tap.first, {first, second});
      } else {
        add(tap.first, {first + second});
      }
    }
    return area;
  }
  const double scale = static_cast<double>(axis.source_size) / axis.target_size;
  // Edges of output samples, in samples of the plane; luma sample k is between k and k + 1.
  auto edge = [&](int i) {
    const double luma = axis.source_start + i * scale;
    const double at = (luma - axis.siting - 0.5) / axis.subsampling + 0.5;
    if (axis.subsampling == 1) return luma;
    return std::clamp<double>(at, axis.plane_start, axis.plane_end);
  };
  std::vector<float> weights;
  for (int k = 0; k < axis.target_size; ++k) {
    const int i = axis.flip ? axis.target_size - 1 - k : k;
    const double from = edge(i), to = edge(i + 1);
    // Smaller parts of a sample are rounding errors of the edges.
    constexpr double kLeast = 1e-6;
    const int first = std::min(static_cast<int>(std::floor(from + kLeast)), axis.plane_end - 1);
    const int last = std::max(first, static_cast<int>(std::ceil(to - kLeast)) - 1);
    weights.clear();
    for (int sample = first; sample <= last; ++sample) {
      const double covered =
          std::min(to, sample + 1.0) - std::max(from, static_cast<double>(sample));
      weights.push_back(static_cast<float>(last == first ? 1.0 : covered / (to - from)));
    }
    add(first, weights);
  }
  return area;
}

}  // namespace dvnn::image
