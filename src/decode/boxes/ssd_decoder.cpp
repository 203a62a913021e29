// SPDX-License-Identifier: Apache-2.0
// Raw locations and confidences over priors, with key points if the network has them: SSD,
// RetinaFace, BlazeFace, YuNet of 2021, the ultra-light face detectors.
#include "base/json.h"
#include "decode/decoder_table.h"
#include "decode/parts/heads.h"
#include "decode/priors.h"
#include "kernels/boxes/ssd.h"

namespace dvnn::decode {
namespace {

class PriorGeometry final : public Geometry {
 public:
  PriorGeometry(const kernels::SsdParams& params, std::vector<Prior> priors)
      : params_(params), priors_(std::move(priors)) {
    if (!params_.variance_encoded_in_target) return;
    for (Prior& prior : priors_) prior.variance = {{1, 1, 1, 1}};
  }

  Box box(const Level& level, const Hit& hit, const float* raw) const override {
    const int own = params_.share_location ? 0 : hit.class_id;
    return decode_box(params_.code_type, prior(level, hit), raw + 4 * own);
  }

  void point(const Level& level, const Hit& hit, const Box&, float* x, float* y) const override {
    const Prior& p = prior(level, hit);
    *x = (p.box.x0 + p.box.x1) / 2 + *x * p.variance[0] * (p.box.x1 - p.box.x0);
    *y = (p.box.y0 + p.box.y1) / 2 + *y * p.variance[1] * (p.box.y1 - p.box.y0);
  }

 private:
  const Prior& prior(const Level& level, const Hit& hit) const {
    return priors_[level.first_cell + hit.cell];
  }
  kernels::SsdParams params_;
  std::vector<Prior> priors_;
};

// Reads the names of outputs from "loc" and "conf", if "outputs" is absent.
GroupNames names_of(JsonReader* in) {
  if (in->member("parts") || !in->member("loc") || !in->member("conf")) return {};
  return {read_texts(in, "loc"), read_texts(in, "conf")};
}

}  // namespace

DecoderResult create_ssd_decoder(const Json& params, Span<const NamedOutput> outputs) {
  DVNN_ASSIGN(const kernels::SsdParams ssd, kernels::parse_ssd_params(params, "the parameters"));
  JsonReader in(params, "the parameters");
  const Json* rule = in.member("anchors");
  if (!rule) in.fail("anchors", "required but missing");
  DetectorRules rules = read_detector_rules(&in, 0.3);
  rules.score.every_class = !ssd.class_agnostic;
  rules.score.background = ssd.background;
  DVNN_TRY(in.status());
  std::vector<size_t> groups;
  DVNN_ASSIGN(std::vector<Prior> priors, make_anchors(*rule, &groups));
  std::vector<Level> levels;
  for (const size_t cells : groups) {
    Level level;
    level.cells = cells;
    level.width = static_cast<int>(cells);
    levels.push_back(level);
  }
  PartSizes sizes = read_part_sizes(&in, rules.point_size);
  sizes.boxes = 4 * (ssd.share_location ? 1 : ssd.num_classes);
  DVNN_ASSIGN(Heads heads, find_heads(&in, outputs, std::move(levels), sizes, {"boxes", "scores"},
                                      names_of(&in)));
  return make_detector(rules, std::move(heads),
                       std::make_unique<PriorGeometry>(ssd, std::move(priors)));
}

}  // namespace dvnn::decode
