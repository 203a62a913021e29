// SPDX-License-Identifier: Apache-2.0
#include "kernels/boxes/prior.h"

#include <cmath>

#include "base/names.h"
#include "base/nth.h"

namespace dvnn::kernels {

namespace {
constexpr const char* kCodeTypes[] = {"corner", "center_size", "corner_size", "linear"};
}  // namespace

const char* name_of(CodeType type) {
  return nth(kCodeTypes, type);
}

Result<CodeType> parse_code_type(std::string_view text) {
  return parse_name<CodeType>(text, kCodeTypes, "box code type");
}

Box decode_box(CodeType type, const Prior& prior, const float* delta) {
  const Box& p = prior.box;
  const auto& v = prior.variance;
  const float w = p.x1 - p.x0, h = p.y1 - p.y0;
  switch (type) {
    case CodeType::kCorner:
      return {p.x0 + v[0] * delta[0], p.y0 + v[1] * delta[1], p.x1 + v[2] * delta[2],
              p.y1 + v[3] * delta[3]};
    case CodeType::kCornerSize:
      return {p.x0 + v[0] * delta[0] * w, p.y0 + v[1] * delta[1] * h, p.x1 + v[2] * delta[2] * w,
              p.y1 + v[3] * delta[3] * h};
    case CodeType::kCenterSize:
    case CodeType::kLinear:
      break;
  }
  const float cx = 0.5f * (p.x0 + p.x1) + v[0] * delta[0] * w;
  const float cy = 0.5f * (p.y0 + p.y1) + v[1] * delta[1] * h;
  const bool linear = type == CodeType::kLinear;
  const float half_w = 0.5f * w * (linear ? v[2] * delta[2] : std::exp(v[2] * delta[2]));
  const float half_h = 0.5f * h * (linear ? v[3] * delta[3] : std::exp(v[3] * delta[3]));
  return {cx - half_w, cy - half_h, cx + half_w, cy + half_h};
}

std::array<float, 4> expand_variances(const std::vector<float>& v, std::array<float, 4> fallback) {
  if (v.size() == 4) return {{v[0], v[1], v[2], v[3]}};
  if (v.size() == 1) return {{v[0], v[0], v[0], v[0]}};
  return fallback;
}

bool is_finite(const Box& box) {
  return std::isfinite(box.x0) && std::isfinite(box.y0) && std::isfinite(box.x1) &&
         std::isfinite(box.y1);
}

}  // namespace dvnn::kernels
