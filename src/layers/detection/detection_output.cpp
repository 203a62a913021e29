// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/format.h"
#include "base/json.h"
#include "base/numbers.h"
#include "kernels/boxes/ssd.h"
#include "layers/factories.h"
#include "layers/loops/floats.h"

namespace dvnn::layers {
namespace {

constexpr size_t kRowLength = kernels::kDetectionRowLength;

class DetectionOutput final : public CpuLayer {
 public:
  DetectionOutput(const kernels::SsdParams& params, Span<const TensorDesc> inputs,
                  const TensorDesc& output)
      : loc_(inputs[0]),
        conf_(inputs[1]),
        priors_in_(inputs[2]),
        writer_(output),
        rows_(output.shape.count() / kRowLength),
        priors_(inputs[2].shape.count() / 8),
        selector_(params, {}) {}

  Status run(Span<const ConstTensorView> inputs, Span<const TensorView> outputs) override {
    read_priors(priors_in_.read(inputs[2]));
    found_.clear();
    selector_.select(loc_.read(inputs[0]), conf_.read(inputs[1]), 0, &found_);
    float* row = writer_.begin(outputs[0]);
    for (size_t i = 0; i < rows_; ++i, row += kRowLength) {
      std::fill(row, row + kRowLength, 0.0f);
      row[0] = -1;
      if (i >= found_.size()) continue;
      const kernels::ScoredBox& d = found_[i];
      const float values[kRowLength] = {
          0, static_cast<float>(d.class_id), d.score, d.box.x0, d.box.y0, d.box.x1, d.box.y1};
      std::copy(values, values + kRowLength, row);
    }
    writer_.finish(outputs[0]);
    return {};
  }

 private:
  void read_priors(const float* boxes) {
    const float* variances = boxes + 4 * priors_.size();
    for (size_t i = 0; i < priors_.size(); ++i, boxes += 4, variances += 4) {
      priors_[i].box = {boxes[0], boxes[1], boxes[2], boxes[3]};
      std::copy(variances, variances + 4, priors_[i].variance.begin());
    }
    selector_.set_priors(priors_);
  }

  FloatReader loc_, conf_, priors_in_;
  FloatWriter writer_;
  size_t rows_;
  std::vector<kernels::Prior> priors_;
  kernels::SsdSelector selector_;
  std::vector<kernels::ScoredBox> found_;
};

}  // namespace

Result<DetectionOutputAttributes> DetectionOutputAttributes::parse(const Json& params) {
  DVNN_ASSIGN(auto ssd, kernels::parse_ssd_params(params, "the parameters"));
  return DetectionOutputAttributes{ssd};
}

Json DetectionOutputAttributes::to_json() const {
  return kernels::to_json(ssd);
}

DimsResult DetectionOutputAttributes::dims_after(Span<const Shape> inputs) const {
  constexpr int64_t kDefaultRows = 200;
  DVNN_TRY(expect_inputs(inputs, 1));
  const int64_t rows = ssd.keep_top_k > 0 ? ssd.keep_top_k : kDefaultRows;
  return std::vector<int64_t>{1, 1, rows, static_cast<int64_t>(kRowLength)};
}

Cost DetectionOutputAttributes::cost(Span<const TensorDesc> in, Span<const TensorDesc> out) const {
  Cost cost = one_look(in, out);
  if (in.size() != 3) return cost;
  constexpr uint64_t kBytesPerPrior = 128;  // priors twice, boxes, candidates and results
  const uint64_t priors = elements_of(in[2]) / 8;
  cost.candidates = kernels::count_candidates(ssd, priors);
  return cost.keep_bytes(saturating_product(priors, kBytesPerPrior));
}

LayerResult DetectionOutputAttributes::create(Span<const TensorDesc> inputs,
                                              Span<const TensorDesc> outputs) const {
  DVNN_TRY(expect_arity(inputs, 3, 3, outputs));
  const int64_t priors = inputs[2].shape.elements() / 8;
  const struct {
    const char* name;
    int64_t have, wanted;
  } checks[] = {
      {"location", inputs[0].shape.elements(),
       priors * 4 * (ssd.share_location ? 1 : ssd.num_classes)},
      {"confidence", inputs[1].shape.elements(), priors * ssd.num_classes},
      {"prior", inputs[2].shape.elements(), priors * 8},
      {"output row", outputs[0].shape[outputs[0].shape.rank - 1], int64_t{kRowLength}},
  };
  for (const auto& check : checks) {
    if (check.have != check.wanted) {
      return malformed(format("%s elements: %lld, expected %lld for %lld priors", check.name,
                              static_cast<long long>(check.have),
                              static_cast<long long>(check.wanted),
                              static_cast<long long>(priors)));
    }
  }
  return std::unique_ptr<CpuLayer>(new DetectionOutput(ssd, inputs, outputs[0]));
}

}  // namespace dvnn::layers
