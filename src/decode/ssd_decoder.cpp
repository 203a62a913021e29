// SPDX-License-Identifier: Apache-2.0
#include "base/budget.h"
#include "base/format.h"
#include "base/json.h"
#include "decode/decoder_table.h"
#include "decode/priors.h"
#include "decode/ssd.h"
#include "kernels/sigmoid.h"
#include "kernels/softmax.h"

namespace dvnn::decode {
namespace {

enum class Score { kNone, kSoftmax, kSigmoid };

class SsdDecoder final : public Decoder {
 public:
  SsdDecoder(SsdSelector selector, Score score, size_t loc, size_t conf)
      : selector_(std::move(selector)),
        score_(score),
        loc_output_(loc),
        conf_output_(conf),
        classes_(static_cast<size_t>(selector_.params().num_classes)),
        loc_(selector_.prior_count() * 4 * (selector_.params().share_location ? 1 : classes_)),
        conf_(selector_.prior_count() * classes_) {}
  objects::Kind kind() const override { return objects::Kind::kDetection; }

  Status decode(Span<const ConstTensorView> outputs, float threshold,
                objects::Objects* out) override {
    read_nchw(outputs[loc_output_], loc_.data());
    read_nchw(outputs[conf_output_], conf_.data());
    if (score_ == Score::kSoftmax) {
      kernels::softmax(conf_.data(), selector_.prior_count(), classes_, 1);
    }
    if (score_ == Score::kSigmoid) kernels::sigmoid(conf_.data(), conf_.data(), conf_.size());
    found_.clear();
    selector_.select(loc_.data(), conf_.data(), threshold, &found_);
    for (const ScoredBox& found : found_) {
      objects::Object object;
      object.class_id = found.class_id;
      object.confidence = found.score;
      object.box = to_corners(found.box);
      out->push_back(std::move(object));
    }
    return {};
  }

 private:
  SsdSelector selector_;
  Score score_;
  size_t loc_output_, conf_output_, classes_;
  std::vector<float> loc_, conf_;
  std::vector<ScoredBox> found_;
};

Result<size_t> find_output(Span<const NamedOutput> outputs, const std::string& name) {
  std::string known;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].name == name) return i;
    known += (i ? ", " : "") + outputs[i].name;
  }
  return Error{ErrorCode::kMalformed,
               "the network has no output '" + name + "' (it has: " + known + ")"};
}

Status check_elements(const NamedOutput& output, uint64_t wanted) {
  const int64_t have = output.desc.shape.elements();
  if (have >= 0 && static_cast<uint64_t>(have) == wanted) return {};
  return Error{ErrorCode::kMalformed,
               format("output '%s' has %lld elements, the anchors and classes make %llu",
                      output.name.c_str(), static_cast<long long>(have),
                      static_cast<unsigned long long>(wanted))};
}

}  // namespace

DecoderResult create_ssd_decoder(const nlohmann::json& params, Span<const NamedOutput> outputs) {
  DVNN_ASSIGN(const SsdParams ssd, parse_ssd_params(params, "the parameters"));
  JsonReader in(params, "the parameters");
  const std::string loc_name = in.text("loc"), conf_name = in.text("conf");
  const std::string score_name = in.text("score", "none");
  const nlohmann::json* rule = in.member("anchors");
  if (!rule) in.fail("anchors", "required but missing");
  Score score = Score::kNone;
  if (score_name == "softmax") score = Score::kSoftmax;
  if (score_name == "sigmoid") score = Score::kSigmoid;
  if (score == Score::kNone && score_name != "none") {
    in.fail("score", "'" + score_name + "' is not none, softmax or sigmoid");
  }
  DVNN_TRY(in.status());
  DVNN_ASSIGN(std::vector<Prior> priors, make_anchors(*rule));
  DVNN_ASSIGN(const size_t loc, find_output(outputs, loc_name));
  DVNN_ASSIGN(const size_t conf, find_output(outputs, conf_name));
  // The check precedes any allocation: 2^20 anchors of 65,536 classes would ask for 256 GiB.
  const uint64_t count = priors.size(), classes = static_cast<uint64_t>(ssd.num_classes);
  DVNN_TRY(check_elements(outputs[loc], count * 4 * (ssd.share_location ? 1 : classes)));
  DVNN_TRY(check_elements(outputs[conf], count * classes));
  DVNN_TRY(check_budget(Budget::kCandidates, count_candidates(ssd, count),
                        "suppression looks at candidates of all classes"));
  return std::unique_ptr<Decoder>(
      new SsdDecoder(SsdSelector(ssd, std::move(priors)), score, loc, conf));
}

}  // namespace dvnn::decode
