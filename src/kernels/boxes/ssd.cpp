// SPDX-License-Identifier: Apache-2.0
#include "kernels/boxes/ssd.h"

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "base/nth.h"

namespace dvnn::kernels {
namespace {
constexpr int kEveryClass = -1;
}  // namespace

Result<SsdParams> parse_ssd_params(const Json& params, const std::string& what) {
  constexpr int64_t kManyClasses = 65536, kMany = 1 << 20;
  JsonReader in(params, what);
  SsdParams p;
  p.num_classes = static_cast<int>(in.integer("num_classes", 1, kManyClasses));
  p.background = static_cast<int>(in.integer("background_label_id", -1, kManyClasses, 0));
  p.share_location = in.boolean("share_location", true);
  p.variance_encoded_in_target = in.boolean("variance_encoded_in_target", false);
  p.nms.iou_threshold = static_cast<float>(in.number("nms_threshold", 0.3));
  p.nms.top_k = static_cast<int>(in.integer("nms_top_k", -1, kMany, -1));
  p.nms.eta = static_cast<float>(in.number("nms_eta", 1.0));
  p.keep_top_k = static_cast<int>(in.integer("keep_top_k", -1, kMany, -1));
  p.confidence_threshold = static_cast<float>(in.number("confidence_threshold", 0.0));
  p.class_agnostic = in.boolean("class_agnostic", false);
  const auto code = parse_code_type(in.text("code_type", "center_size"));
  if (!code.ok()) {
    in.fail("code_type", code.error().message);
  } else {
    p.code_type = code.value();
  }
  if (p.class_agnostic && !p.share_location) {
    in.fail("class_agnostic", "needs share_location");
  }
  DVNN_TRY(in.status());
  // The cut to keep_top_k drops all boxes of a class beyond this number, because the class's other
  // boxes are better.
  p.nms.max_kept = p.keep_top_k >= 0 ? std::min(p.keep_top_k, kMaxKept) : kMaxKept;
  return p;
}

Json to_json(const SsdParams& p) {
  Json out = {{"num_classes", p.num_classes},
              {"share_location", p.share_location},
              {"background_label_id", p.background},
              {"nms_threshold", p.nms.iou_threshold},
              {"nms_top_k", p.nms.top_k},
              {"nms_eta", p.nms.eta},
              {"code_type", name_of(p.code_type)},
              {"variance_encoded_in_target", p.variance_encoded_in_target},
              {"keep_top_k", p.keep_top_k},
              {"confidence_threshold", p.confidence_threshold}};
  if (p.class_agnostic) out["class_agnostic"] = true;
  return out;
}

uint64_t count_candidates(const SsdParams& params, uint64_t priors) {
  const bool has_background = params.background >= 0 && params.background < params.num_classes;
  const auto objects = static_cast<uint64_t>(params.num_classes - (has_background ? 1 : 0));
  const uint64_t per_class =
      params.nms.top_k >= 0 ? std::min(priors, static_cast<uint64_t>(params.nms.top_k)) : priors;
  return per_class * (params.class_agnostic ? 1 : objects);
}

SsdSelector::SsdSelector(SsdParams params, std::vector<Prior> priors)
    : params_(params), priors_(std::move(priors)) {}

void SsdSelector::select(const float* loc, const float* conf, float threshold,
                         std::vector<ScoredBox>* out) {
  threshold = std::max(threshold, params_.confidence_threshold);
  found_.clear();
  if (params_.class_agnostic) {
    suppress(loc, conf, kEveryClass, threshold);
  } else {
    for (int label = 0; label < params_.num_classes; ++label) {
      if (label != params_.background) suppress(loc, conf, label, threshold);
    }
  }
  std::stable_sort(found_.begin(), found_.end(),
                   [](const ScoredBox& a, const ScoredBox& b) { return a.score > b.score; });
  keep_first(params_.keep_top_k, &found_);
  out->insert(out->end(), found_.begin(), found_.end());
}

// Returns the object class with the highest of the num_classes `scores`.
int SsdSelector::best_class(const float* scores) const {
  int best = -1;
  for (int label = 0; label < params_.num_classes; ++label) {
    if (label != params_.background && (best < 0 || scores[label] > scores[best])) best = label;
  }
  return best;
}

// Finds the boxes of class `label`, or for kEveryClass those of all classes together.
void SsdSelector::suppress(const float* loc, const float* conf, int label, float threshold) {
  const size_t classes = static_cast<size_t>(params_.num_classes);
  const size_t loc_classes = params_.share_location ? 1 : classes;
  const size_t loc_class = params_.share_location ? 0 : static_cast<size_t>(label);
  auto label_of = [&](size_t i) {
    return label == kEveryClass ? best_class(conf + i * classes) : label;
  };
  candidates_.clear();
  boxes_.resize(priors_.size());
  for (size_t i = 0; i < priors_.size(); ++i) {
    const int own = label_of(i);
    const float score = own < 0 ? 0 : nth(conf + i * classes, own);
    if (!(score > threshold)) continue;  // also drops NaN
    Prior prior = priors_[i];
    if (params_.variance_encoded_in_target) prior.variance = {{1, 1, 1, 1}};
    boxes_[i] = decode_box(params_.code_type, prior, loc + (i * loc_classes + loc_class) * 4);
    // A box with a NaN would overlap no other, and so be kept.
    if (is_finite(boxes_[i])) candidates_.push_back({score, static_cast<int>(i)});
  }
  suppress_non_maxima(boxes_, params_.nms, &candidates_, &kept_);
  for (const Candidate& c : candidates_) {
    const size_t i = c.place();
    found_.push_back({boxes_[i], c.score, label_of(i)});
  }
}

}  // namespace dvnn::kernels
