// SPDX-License-Identifier: Apache-2.0
#include "decode/box.h"

#include <algorithm>
#include <cmath>

#include "base/names.h"

namespace dvnn::decode {

Result<CodeType> parse_code_type(std::string_view text) {
  static constexpr const char* kNames[] = {"corner", "center_size", "corner_size"};
  return parse_name<CodeType>(text, kNames, "box code type");
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
      break;
  }
  const float cx = 0.5f * (p.x0 + p.x1) + v[0] * delta[0] * w;
  const float cy = 0.5f * (p.y0 + p.y1) + v[1] * delta[1] * h;
  const float half_w = 0.5f * w * std::exp(v[2] * delta[2]);
  const float half_h = 0.5f * h * std::exp(v[3] * delta[3]);
  return {cx - half_w, cy - half_h, cx + half_w, cy + half_h};
}

bool is_finite(const Box& box) {
  return std::isfinite(box.x0) && std::isfinite(box.y0) && std::isfinite(box.x1) &&
         std::isfinite(box.y1);
}

float intersection_over_union(const Box& a, const Box& b) {
  const float w = std::min(a.x1, b.x1) - std::max(a.x0, b.x0);
  const float h = std::min(a.y1, b.y1) - std::max(a.y0, b.y0);
  if (!(w > 0 && h > 0)) return 0;
  const float both = w * h;
  return both / ((a.x1 - a.x0) * (a.y1 - a.y0) + (b.x1 - b.x0) * (b.y1 - b.y0) - both);
}

void suppress_non_maxima(Span<const Box> boxes, const NmsOptions& options,
                         std::vector<Candidate>* candidates) {
  auto better = [](const Candidate& a, const Candidate& b) {
    return a.score != b.score ? a.score > b.score : a.index < b.index;
  };
  if (options.top_k >= 0 && candidates->size() > static_cast<size_t>(options.top_k)) {
    std::nth_element(candidates->begin(), candidates->begin() + options.top_k, candidates->end(),
                     better);
    candidates->resize(static_cast<size_t>(options.top_k));
  }
  std::sort(candidates->begin(), candidates->end(), better);
  float threshold = options.iou_threshold;
  size_t kept = 0;
  if (options.max_kept == 0) candidates->clear();
  for (size_t i = 0; i < candidates->size(); ++i) {
    const Candidate candidate = (*candidates)[i];
    bool keep = true;
    for (size_t k = 0; k < kept && keep; ++k) {
      keep =
          intersection_over_union(boxes[static_cast<size_t>(candidate.index)],
                                  boxes[static_cast<size_t>((*candidates)[k].index)]) <= threshold;
    }
    if (!keep) continue;
    (*candidates)[kept++] = candidate;
    if (options.max_kept >= 0 && kept >= static_cast<size_t>(options.max_kept)) break;
    if (options.eta < 1 && threshold > 0.5f) threshold *= options.eta;
  }
  candidates->resize(kept);
}

}  // namespace dvnn::decode
