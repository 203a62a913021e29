// SPDX-License-Identifier: Apache-2.0
// SSD post-processing: class scores and location deltas over priors -> boxes with classes. Shared
// by the DetectionOutput layer (src/layers) and the "ssd" decoder.
#pragma once

#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"
#include "kernels/boxes/prior_box.h"
#include "kernels/boxes/suppression.h"

namespace dvnn::kernels {

/// Names and meanings are those of Caffe-SSD's DetectionOutputParameter.
struct SsdParams {
  int num_classes = 2;         // background included
  int background = 0;          // the class that is never reported; -1: every class is an object
  bool share_location = true;  // one box for all classes
  CodeType code_type = CodeType::kCorner;
  bool variance_encoded_in_target = false;
  NmsOptions nms;
  int keep_top_k = -1;  // detections per picture; -1: all
  float confidence_threshold = 0;
  bool class_agnostic = false;  // one suppression over all classes, each box with its best class
};

/// Most boxes that one suppression keeps if `keep_top_k` is not set. No image has more objects of a
/// class, and each kept box is compared with all candidates after it.
constexpr int kMaxKept = 2048;

/// Numbers in a row of a DetectionOutput layer's result: image_id (-1: the row is unused), label,
/// confidence, x0, y0, x1, y1.
constexpr int kDetectionRowLength = 7;

/// Reads {num_classes, background_label_id, share_location, code_type, variance_encoded_in_target,
/// nms_threshold, nms_top_k, nms_eta, keep_top_k, confidence_threshold, class_agnostic}.
Result<SsdParams> parse_ssd_params(const Json& params, const std::string& what);

/// Returns the parameters in the form that parse_ssd_params() reads.
Json to_json(const SsdParams& params);

/// Upper bound of the boxes that suppression compares in one picture, over all classes.
uint64_t count_candidates(const SsdParams& params, uint64_t priors);

/// Post-processes one picture; keeps its working memory between calls.
class SsdSelector {
 public:
  SsdSelector(SsdParams params, std::vector<Prior> priors);
  const SsdParams& params() const { return params_; }
  void set_priors(std::vector<Prior> priors) { priors_ = std::move(priors); }

  /// Appends to `out` the boxes above both thresholds, best first. `loc`: priors x (1 or
  /// num_classes) x 4; `conf`: priors x num_classes, probabilities.
  void select(const float* loc, const float* conf, float threshold, std::vector<ScoredBox>* out);

 private:
  int best_class(const float* scores) const;
  void suppress(const float* loc, const float* conf, int label, float threshold);

  SsdParams params_;
  std::vector<Prior> priors_;
  std::vector<Candidate> candidates_;
  KeptBoxes kept_;
  std::vector<Box> boxes_;
  std::vector<ScoredBox> found_;
};

}  // namespace dvnn::kernels
