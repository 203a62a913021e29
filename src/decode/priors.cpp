// SPDX-License-Identifier: Apache-2.0
#include "decode/priors.h"

#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "base/grid.h"
#include "base/json.h"
#include "kernels/boxes/prior_box.h"

namespace dvnn::decode {
namespace {

using kernels::kMaxPriorGrid;
using kernels::kMaxPriorList;
using kernels::PriorBoxParams;

constexpr int64_t kMaxPriors = 1 << 20;  // far more than any detector has; bounds memory

struct Size {
  float w, h;
};

// Reads a list of lists of positive numbers.
std::vector<std::vector<float>> number_lists(JsonReader* in, const char* name) {
  std::vector<std::vector<float>> lists;
  const Json* value = in->member(name);
  if (!value || !value->is_array() || value->empty() || value->size() > kMaxPriorList) {
    in->fail(name, format("must be an array of 1 to %zu arrays of numbers", kMaxPriorList));
    return lists;
  }
  static const Json kNone = Json::array();
  for (const Json& item : *value) {
    // Checks types explicitly, because get<>() would throw.
    std::vector<float> list;
    for (const Json& n : item.is_array() && item.size() <= kMaxPriorList ? item : kNone) {
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

// Adds a grid of cells with the same centre-form anchors (relative to the picture) in each.
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
  if (cols < 1 || rows < 1 || cols > kMaxPriorGrid || rows > kMaxPriorGrid || total > kMaxPriors) {
    return too_large(format(
        "anchors: a grid of %lld x %lld cells is outside 1..%d, or makes more than %lld anchors",
        static_cast<long long>(cols), static_cast<long long>(rows), kMaxPriorGrid,
        static_cast<long long>(kMaxPriors)));
  }
  return {};
}

Result<std::vector<Prior>> min_boxes_anchors(JsonReader* in, std::array<float, 4> variance,
                                             std::vector<size_t>* groups) {
  const std::vector<int> image = in->integers("image", 1, 32768, 2);
  const std::vector<int> strides = in->integers("strides", 1, 32768, kMaxPriorList);
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
    if (f.size() != 2 || f[0] > kMaxPriorGrid || f[1] > kMaxPriorGrid) {
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
  if (!layers || !layers->is_array() || layers->empty() || layers->size() > kMaxPriorList) {
    in->fail("layers", format("must be an array of 1 to %zu PriorBox descriptions", kMaxPriorList));
  }
  DVNN_TRY(in->status());
  std::vector<Prior> priors;
  for (const Json& layer : *layers) {
    DVNN_ASSIGN(const PriorBoxParams params, kernels::parse_prior_box(layer));
    DVNN_TRY(check_count(params.layer_w, params.layer_h,
                         static_cast<size_t>(kernels::priors_per_cell(params)), priors.size()));
    const std::vector<Prior> more = kernels::make_prior_box(params);
    groups->push_back(more.size());
    priors.insert(priors.end(), more.begin(), more.end());
  }
  return priors;
}

}  // namespace

Result<std::vector<Prior>> make_anchors(const Json& rule, std::vector<size_t>* groups) {
  std::vector<size_t> unused;
  if (!groups) groups = &unused;
  groups->clear();
  JsonReader in(rule, "the anchor rule");
  const std::string name = in.text("rule");
  const std::vector<float> listed = in.numbers("variances", 4);
  if (listed.size() > 1 && listed.size() != 4) in.fail("variances", "needs 1 or 4 values");
  DVNN_TRY(in.status());
  const auto variance = kernels::expand_variances(listed, {{0.1f, 0.1f, 0.2f, 0.2f}});
  if (name == "min-boxes") return min_boxes_anchors(&in, variance, groups);
  if (name == "sizes-ratios") return sizes_ratios_anchors(&in, variance, groups);
  if (name == "prior-box") return prior_box_anchors(&in, groups);
  return malformed("unknown anchor rule '" + name +
                   "' (known: min-boxes, sizes-ratios, prior-box)");
}

}  // namespace dvnn::decode
