// SPDX-License-Identifier: Apache-2.0
#include "image/geometry.h"

#include <algorithm>
#include <cmath>

namespace dvnn::image {
namespace {

int rounded(double value, int max) {
  return std::clamp(static_cast<int>(std::lround(value)), 1, max);
}

}  // namespace

Transform Geometry::transform() const {
  Transform t;
  t.scale_x = static_cast<double>(target.w) / source.w;
  t.scale_y = static_cast<double>(target.h) / source.h;
  t.offset_x = target.x - source.x * t.scale_x;
  t.offset_y = target.y - source.y * t.scale_y;
  return t;
}

Geometry plan_geometry(const FrameFormat& frame, int tensor_w, int tensor_h, ResizeRule rule) {
  Geometry g;
  const Rect picture = frame.crop_width > 0
                           ? Rect{frame.crop_x, frame.crop_y, frame.crop_width, frame.crop_height}
                           : Rect{0, 0, frame.width, frame.height};
  g.source = picture;
  g.target = {0, 0, tensor_w, tensor_h};
  const double par = static_cast<double>(frame.par_n) / frame.par_d;
  const double display_w = picture.w * par, display_h = picture.h;
  switch (rule) {
    case ResizeRule::kStretch:
      break;
    case ResizeRule::kLetterbox:
    case ResizeRule::kLetterboxTopLeft: {
      const double scale = std::min(tensor_w / display_w, tensor_h / display_h);
      g.target.w = rounded(display_w * scale, tensor_w);
      g.target.h = rounded(display_h * scale, tensor_h);
      if (rule == ResizeRule::kLetterbox) {
        g.target.x = (tensor_w - g.target.w) / 2;
        g.target.y = (tensor_h - g.target.h) / 2;
      }
      break;
    }
    case ResizeRule::kCrop: {
      const double scale = std::max(tensor_w / display_w, tensor_h / display_h);
      g.source.w = rounded(tensor_w / scale / par, picture.w);
      g.source.h = rounded(tensor_h / scale, picture.h);
      g.source.x = picture.x + (picture.w - g.source.w) / 2;
      g.source.y = picture.y + (picture.h - g.source.h) / 2;
      break;
    }
  }
  return g;
}

void plan_taps(const AxisPlan& plan, Tap* taps) {
  constexpr int kOne = 1 << kWeightBits;
  // The quotient of the quotient, as OpenCV computes it: equal to the last bit.
  const double scale = 1.0 / (static_cast<double>(plan.target_size) / plan.source_size);
  for (int i = 0; i < plan.target_size; ++i) {
    float at = static_cast<float>((i + 0.5) * scale - 0.5);
    if (plan.subsampling > 1) {
      at = static_cast<float>((at + plan.source_start - plan.siting) / plan.subsampling);
    }
    int index = static_cast<int>(std::floor(at));
    float fraction = at - static_cast<float>(index);
    const int start = plan.subsampling > 1 ? 0 : plan.source_start;
    const int size = plan.subsampling > 1 ? plan.plane_size : plan.source_size;
    // At the edges OpenCV gives one sample full weight along rows, and both weights to the same
    // sample along columns.
    if (plan.horizontal && index < 0) fraction = 0, index = 0;
    if (plan.horizontal && index >= size - 1) fraction = 0, index = size - 1;
    Tap& tap = taps[i];
    tap.first = start + std::clamp(index, 0, size - 1);
    tap.second = start + std::clamp(index + 1, 0, size - 1);
    tap.first_weight = static_cast<int>(std::lrint((1.0f - fraction) * kOne));
    tap.second_weight = static_cast<int>(std::lrint(fraction * kOne));
  }
}

}  // namespace dvnn::image
