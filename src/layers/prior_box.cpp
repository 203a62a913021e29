// SPDX-License-Identifier: Apache-2.0
#include "base/format.h"
#include "base/json.h"
#include "decode/priors.h"
#include "layers/factories.h"
#include "layers/float_io.h"

namespace dvnn::layers {
namespace {

class PriorBox final : public CpuLayer {
 public:
  PriorBox(decode::PriorBoxParams params, const TensorDesc& output)
      : params_(std::move(params)), writer_(output) {}

  Status run(Span<const ConstTensorView>, Span<const TensorView> outputs) override {
    const std::vector<decode::Prior> priors = decode::make_prior_box(params_);
    float* boxes = writer_.begin(outputs[0]);
    float* variances = boxes + 4 * priors.size();
    for (const decode::Prior& p : priors) {
      for (float v : {p.box.x0, p.box.y0, p.box.x1, p.box.y1}) *boxes++ = v;
      for (float v : p.variance) *(params_.listed ? boxes : variances)++ = v;
    }
    writer_.finish(outputs[0]);
    return {};
  }

 private:
  decode::PriorBoxParams params_;
  FloatWriter writer_;
};

}  // namespace

DVNN_LAYER_FACTORY(create_prior_box_layer) {
  DVNN_TRY(expect_arity(inputs, 0, 2, outputs));
  nlohmann::json sized = params;
  const JsonScope scope(&sized);
  const bool picture = !inputs.empty() && inputs[0].shape.rank == 4;
  if (picture && sized.is_object() && sized.contains("img_size")) {  // its grid is its input's
    sized["layer_w"] = inputs[0].shape.w();
    sized["layer_h"] = inputs[0].shape.h();
  }
  auto parsed = decode::parse_prior_box(sized);
  if (!parsed.ok()) return parsed.error();
  decode::PriorBoxParams& p = parsed.value();
  const int64_t floats = int64_t{8} * p.layer_w * p.layer_h * decode::priors_per_cell(p);
  if (outputs[0].shape.elements() != floats) {
    return Error{ErrorCode::kMalformed,
                 format("makes %lld values, the output's shape is %s",
                        static_cast<long long>(floats), outputs[0].shape.to_string().c_str())};
  }
  return std::unique_ptr<CpuLayer>(new PriorBox(std::move(p), outputs[0]));
}

}  // namespace dvnn::layers
