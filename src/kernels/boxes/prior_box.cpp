// SPDX-License-Identifier: Apache-2.0
#include "kernels/boxes/prior_box.h"

#include <algorithm>
#include <cmath>

#include "base/grid.h"
#include "base/json.h"
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

namespace {

// Returns the aspect ratios in the layer's order: 1, then each new one, with `flip` its inverse.
std::vector<float> expand_ratios(const PriorBoxParams& params) {
  std::vector<float> ratios = {1.0f};
  auto add = [&](float r) {
    const bool known = std::any_of(ratios.begin(), ratios.end(),
                                   [r](float have) { return std::fabs(have - r) < 1e-6f; });
    if (!known) ratios.push_back(r);
    return !known;
  };
  for (float r : params.aspect_ratios) {
    if (add(r) && params.flip) ratios.push_back(1.0f / r);
  }
  return ratios;
}

struct Size {
  float w, h;
};

// Full widths and heights, in pixels, of the priors of one cell.
std::vector<Size> cell_sizes(const PriorBoxParams& params) {
  std::vector<Size> sizes;
  if (params.listed) {
    const float least = params.min_sizes[0];
    for (float ratio : params.aspect_ratios) {
      const bool further = ratio == 1.0f && !sizes.empty();
      const float s = further ? std::sqrt(least * params.max_sizes[0]) : least;
      const float root = std::sqrt(ratio);
      sizes.push_back({s * root, s / root});
    }
    return sizes;
  }
  const std::vector<float> ratios = expand_ratios(params);
  for (size_t i = 0; i < params.min_sizes.size(); ++i) {
    const float s = params.min_sizes[i];
    sizes.push_back({s, s});
    if (!params.max_sizes.empty()) {
      const float between = std::sqrt(s * params.max_sizes[i]);
      sizes.push_back({between, between});
    }
    for (size_t r = 1; r < ratios.size(); ++r) {
      const float root = std::sqrt(ratios[r]);
      sizes.push_back({s * root, s / root});
    }
  }
  return sizes;
}

}  // namespace

Result<PriorBoxParams> parse_prior_box(const Json& object) {
  JsonReader in(object, "PriorBox");
  PriorBoxParams p;
  p.listed = object.contains("img_size");
  p.aspect_ratios = in.numbers("aspect_ratios", kMaxPriorList);
  p.clip = in.boolean("clip", false);
  p.variances = in.numbers("variances", 4);
  if (p.listed) {
    const std::vector<float> size = in.numbers("img_size", 2);
    if (size.size() != 2) in.fail("img_size", "needs 2 values");
    if (!in.ok()) return in.status().error();
    p.image_w = size[0];
    p.image_h = size[1];
    p.min_sizes = {static_cast<float>(in.number("min_size"))};
    p.max_sizes = {static_cast<float>(in.number("max_size"))};
    if (p.aspect_ratios.empty()) in.fail("aspect_ratios", "needs at least one ratio");
  } else {
    p.min_sizes = in.numbers("min_sizes", kMaxPriorList);
    p.max_sizes = in.numbers("max_sizes", kMaxPriorList);
    p.flip = in.boolean("flip", true);
    p.image_w = static_cast<float>(in.number("img_w"));
    p.image_h = static_cast<float>(in.number("img_h"));
  }
  p.layer_w = static_cast<int>(in.integer("layer_w", 1, kMaxPriorGrid));
  p.layer_h = static_cast<int>(in.integer("layer_h", 1, kMaxPriorGrid));
  p.step_w = static_cast<float>(in.number("step_w", 0));
  p.step_h = static_cast<float>(in.number("step_h", 0));
  p.offset = static_cast<float>(in.number("offset", 0.5));
  auto positive = [](float v) { return v > 0; };
  if (p.min_sizes.empty()) in.fail("min_sizes", "needs at least one size");
  if (!std::all_of(p.min_sizes.begin(), p.min_sizes.end(), positive)) {
    in.fail("min_sizes", "sizes must be positive");
  }
  if (!p.max_sizes.empty() && p.max_sizes.size() != p.min_sizes.size()) {
    in.fail("max_sizes", "needs as many entries as min_sizes");
  }
  for (size_t i = 0; i < p.max_sizes.size() && in.ok(); ++i) {
    if (!(p.max_sizes[i] > p.min_sizes[i])) in.fail("max_sizes", "must exceed min_sizes");
  }
  if (!std::all_of(p.aspect_ratios.begin(), p.aspect_ratios.end(), positive)) {
    in.fail("aspect_ratios", "ratios must be positive");
  }
  if (p.variances.size() > 1 && p.variances.size() != 4) {
    in.fail("variances", "needs 1 or 4 values");
  }
  if (!(p.image_w > 0 && p.image_h > 0)) in.fail("img_w", "image size must be positive");
  DVNN_TRY(in.status());
  return p;
}

Json to_json(const PriorBoxParams& p) {
  // Writes whole numbers of pixels as integers.
  auto pixels = [](float size) {
    return size == std::floor(size) && size < 1e9f ? Json(static_cast<int64_t>(size)) : Json(size);
  };
  if (!p.listed) {
    return {{"min_sizes", p.min_sizes},
            {"max_sizes", p.max_sizes},
            {"aspect_ratios", p.aspect_ratios},
            {"flip", p.flip},
            {"clip", p.clip},
            {"variances", p.variances},
            {"img_w", pixels(p.image_w)},
            {"img_h", pixels(p.image_h)},
            {"layer_w", p.layer_w},
            {"layer_h", p.layer_h},
            {"step_w", p.step_w},
            {"step_h", p.step_h},
            {"offset", p.offset}};
  }
  Json out = {{"img_size", {pixels(p.image_w), pixels(p.image_h)}},
              {"min_size", pixels(p.min_sizes[0])},
              {"max_size", pixels(p.max_sizes[0])},
              {"aspect_ratios", p.aspect_ratios},
              {"variances", p.variances},
              {"clip", p.clip},
              {"layer_w", p.layer_w},
              {"layer_h", p.layer_h}};
  if (p.step_w != 0) out["step_w"] = p.step_w;
  if (p.step_h != 0) out["step_h"] = p.step_h;
  if (p.offset != 0.5f) out["offset"] = p.offset;
  return out;
}

int priors_per_cell(const PriorBoxParams& params) {
  if (params.listed) return static_cast<int>(params.aspect_ratios.size());
  const size_t per_size = expand_ratios(params).size() + (params.max_sizes.empty() ? 0 : 1);
  return static_cast<int>(params.min_sizes.size() * per_size);
}

std::vector<Prior> make_prior_box(const PriorBoxParams& p) {
  const std::vector<Size> sizes = cell_sizes(p);
  const auto variance = expand_variances(p.variances, {{0.1f, 0.1f, 0.1f, 0.1f}});
  const float step_w = p.step_w > 0 ? p.step_w : p.image_w / static_cast<float>(p.layer_w);
  const float step_h = p.step_h > 0 ? p.step_h : p.image_h / static_cast<float>(p.layer_h);
  std::vector<Prior> priors;
  priors.reserve(sizes.size() * grid_size(p.layer_w, p.layer_h));
  for (int y = 0; y < p.layer_h; ++y) {
    for (int x = 0; x < p.layer_w; ++x) {
      const float cx = (static_cast<float>(x) + p.offset) * step_w;
      const float cy = (static_cast<float>(y) + p.offset) * step_h;
      for (const Size& s : sizes) {
        Box box = {(cx - s.w / 2) / p.image_w, (cy - s.h / 2) / p.image_h,
                   (cx + s.w / 2) / p.image_w, (cy + s.h / 2) / p.image_h};
        if (p.clip) {
          for (float* v : {&box.x0, &box.y0, &box.x1, &box.y1}) *v = std::clamp(*v, 0.0f, 1.0f);
        }
        priors.push_back({box, variance});
      }
    }
  }
  return priors;
}

}  // namespace dvnn::kernels
