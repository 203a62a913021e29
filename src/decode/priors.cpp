// SPDX-License-Identifier: Apache-2.0
#include "decode/priors.h"

#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "base/grid.h"
#include "base/json.h"

namespace dvnn::decode {
namespace {

constexpr int kMaxGrid = 4096;           // cells per axis
constexpr int64_t kMaxPriors = 1 << 20;  // far above any detector's; bounds memory
constexpr size_t kMaxList = 64;

// The aspect ratios in the layer's order: 1 first, then each new one, then its inverse with `flip`.
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

std::array<float, 4> expand_variances(const std::vector<float>& v, std::array<float, 4> fallback) {
  if (v.size() == 4) return {{v[0], v[1], v[2], v[3]}};
  if (v.size() == 1) return {{v[0], v[0], v[0], v[0]}};
  return fallback;
}

// Reads a list of lists of positive numbers.
std::vector<std::vector<float>> number_lists(JsonReader* in, const char* name) {
  std::vector<std::vector<float>> lists;
  const Json* value = in->member(name);
  if (!value || !value->is_array() || value->empty() || value->size() > kMaxList) {
    in->fail(name, format("must be an array of 1 to %zu arrays of numbers", kMaxList));
    return lists;
  }
  static const Json kNone = Json::array();
  for (const Json& item : *value) {
    // json's own type checks are used instead of get<>(), which would throw.
    std::vector<float> list;
    for (const Json& n : item.is_array() && item.size() <= kMaxList ? item : kNone) {
      const float v = n.is_number() ? n.get<float>() : 0.0f;
      if (std::isfinite(v) && v > 0) list.push_back(v);
    }
    if (list.empty() || list.size() != item.size()) {
      in->fail(name, "every entry must be an array of positive numbers");
      return lists;
    }
    lists.push_back(std::move(list));
  }
  return lists;
}

// A grid of cells with the same centre-form anchors (relative to the picture) in each.
void add_grid(int cols, int rows, const std::vector<Size>& sizes, std::array<float, 4> variance,
              std::vector<Prior>* priors) {
  for (int y = 0; y < rows; ++y) {
    for (int x = 0; x < cols; ++x) {
      const float cx = (static_cast<float>(x) + 0.5f) / static_cast<float>(cols);
      const float cy = (static_cast<float>(y) + 0.5f) / static_cast<float>(rows);
      for (const Size& s : sizes) {
        priors->push_back({{cx - s.w / 2, cy - s.h / 2, cx + s.w / 2, cy + s.h / 2}, variance});
      }
    }
  }
}

Status check_count(int64_t cols, int64_t rows, size_t per_cell, size_t so_far) {
  const int64_t total = cols * rows * static_cast<int64_t>(per_cell) + static_cast<int64_t>(so_far);
  if (cols < 1 || rows < 1 || cols > kMaxGrid || rows > kMaxGrid || total > kMaxPriors) {
    return Error{ErrorCode::kLimit,
                 format("anchors: a grid of %lld x %lld cells is outside 1..%d, or makes more than "
                        "%lld anchors",
                        static_cast<long long>(cols), static_cast<long long>(rows), kMaxGrid,
                        static_cast<long long>(kMaxPriors))};
  }
  return {};
}

Result<std::vector<Prior>> min_boxes_anchors(JsonReader* in, std::array<float, 4> variance,
                                             std::vector<size_t>* groups) {
  const std::vector<int> image = in->integers("image", 1, 32768, 2);
  const std::vector<int> strides = in->integers("strides", 1, 32768, kMaxList);
  const auto boxes = number_lists(in, "min_boxes");
  const bool clamp = in->boolean("clamp", true);
  if (image.size() != 2) in->fail("image", "must be [width, height]");
  if (strides.size() != boxes.size()) in->fail("min_boxes", "needs one list per stride");
  DVNN_TRY(in->status());
  std::vector<Prior> priors;
  for (size_t i = 0; i < strides.size(); ++i) {
    const int cols = (image[0] + strides[i] - 1) / strides[i];
    const int rows = (image[1] + strides[i] - 1) / strides[i];
    DVNN_TRY(check_count(cols, rows, boxes[i].size(), priors.size()));
    std::vector<Size> sizes;
    for (float b : boxes[i]) {
      const Size size = {b / static_cast<float>(image[0]), b / static_cast<float>(image[1])};
      sizes.push_back(clamp ? Size{std::min(1.0f, size.w), std::min(1.0f, size.h)} : size);
    }
    groups->push_back(sizes.size() * grid_size(cols, rows));
    add_grid(cols, rows, sizes, variance, &priors);
  }
  return priors;
}

Result<std::vector<Prior>> sizes_ratios_anchors(JsonReader* in, std::array<float, 4> variance,
                                                std::vector<size_t>* groups) {
  const auto features = number_lists(in, "features");
  const auto sizes = number_lists(in, "sizes");
  const auto ratios = number_lists(in, "ratios");
  if (sizes.size() != features.size()) in->fail("sizes", "needs one list per feature map");
  if (ratios.size() != features.size()) in->fail("ratios", "needs one list per feature map");
  for (const auto& f : features) {
    if (f.size() != 2 || f[0] > kMaxGrid || f[1] > kMaxGrid) {
      in->fail("features", "every entry must be [columns, rows]");
    }
  }
  DVNN_TRY(in->status());
  std::vector<Prior> priors;
  for (size_t i = 0; i < features.size(); ++i) {
    const int cols = static_cast<int>(features[i][0]), rows = static_cast<int>(features[i][1]);
    std::vector<Size> cell;
    auto add = [&](float size, float ratio) {
      const float root = std::sqrt(ratio);
      cell.push_back({size * root, size / root});
    };
    for (float s : sizes[i]) add(s, ratios[i][0]);
    for (size_t r = 1; r < ratios[i].size(); ++r) add(sizes[i][0], ratios[i][r]);
    DVNN_TRY(check_count(cols, rows, cell.size(), priors.size()));
    groups->push_back(cell.size() * grid_size(cols, rows));
    add_grid(cols, rows, cell, variance, &priors);
  }
  return priors;
}

Result<std::vector<Prior>> prior_box_anchors(JsonReader* in, std::vector<size_t>* groups) {
  const Json* layers = in->member("layers");
  if (!layers || !layers->is_array() || layers->empty() || layers->size() > kMaxList) {
    in->fail("layers", format("must be an array of 1 to %zu PriorBox descriptions", kMaxList));
  }
  DVNN_TRY(in->status());
  std::vector<Prior> priors;
  for (const Json& layer : *layers) {
    DVNN_ASSIGN(const PriorBoxParams params, parse_prior_box(layer));
    DVNN_TRY(check_count(params.layer_w, params.layer_h,
                         static_cast<size_t>(priors_per_cell(params)), priors.size()));
    const std::vector<Prior> more = make_prior_box(params);
    groups->push_back(more.size());
    priors.insert(priors.end(), more.begin(), more.end());
  }
  return priors;
}

}  // namespace

Result<PriorBoxParams> parse_prior_box(const Json& object) {
  JsonReader in(object, "PriorBox");
  PriorBoxParams p;
  p.listed = object.contains("img_size");
  p.aspect_ratios = in.numbers("aspect_ratios", kMaxList);
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
    p.min_sizes = in.numbers("min_sizes", kMaxList);
    p.max_sizes = in.numbers("max_sizes", kMaxList);
    p.flip = in.boolean("flip", true);
    p.image_w = static_cast<float>(in.number("img_w"));
    p.image_h = static_cast<float>(in.number("img_h"));
  }
  p.layer_w = static_cast<int>(in.integer("layer_w", 1, kMaxGrid));
  p.layer_h = static_cast<int>(in.integer("layer_h", 1, kMaxGrid));
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
  // Sizes in pixels are whole numbers, in files, too.
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

Result<std::vector<Prior>> make_anchors(const Json& rule, std::vector<size_t>* groups) {
  std::vector<size_t> unused;
  if (!groups) groups = &unused;
  groups->clear();
  JsonReader in(rule, "the anchor rule");
  const std::string name = in.text("rule");
  const std::vector<float> listed = in.numbers("variances", 4);
  if (listed.size() > 1 && listed.size() != 4) in.fail("variances", "needs 1 or 4 values");
  DVNN_TRY(in.status());
  const auto variance = expand_variances(listed, {{0.1f, 0.1f, 0.2f, 0.2f}});
  if (name == "min-boxes") return min_boxes_anchors(&in, variance, groups);
  if (name == "sizes-ratios") return sizes_ratios_anchors(&in, variance, groups);
  if (name == "prior-box") return prior_box_anchors(&in, groups);
  return Error{ErrorCode::kMalformed,
               "unknown anchor rule '" + name + "' (known: min-boxes, sizes-ratios, prior-box)"};
}

}  // namespace dvnn::decode
