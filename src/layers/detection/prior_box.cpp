// SPDX-License-Identifier: Apache-2.0
#include "kernels/boxes/prior_box.h"
#include "base/format.h"
#include "base/json.h"
#include "layers/factories.h"
#include "layers/loops/floats.h"

namespace dvnn::layers {
namespace {

class PriorBox final : public CpuLayer {
 public:
  PriorBox(kernels::PriorBoxParams params, const TensorDesc& output)
      : params_(std::move(params)), writer_(output) {}

  Status run(Span<const ConstTensorView>, Span<const TensorView> outputs) override {
    const std::vector<kernels::Prior> priors = kernels::make_prior_box(params_);
    float* boxes = writer_.begin(outputs[0]);
    float* variances = boxes + 4 * priors.size();
    for (const kernels::Prior& p : priors) {
      for (float v : {p.box.x0, p.box.y0, p.box.x1, p.box.y1}) *boxes++ = v;
      for (float v : p.variance) *(params_.listed ? boxes : variances)++ = v;
    }
    writer_.finish(outputs[0]);
    return {};
  }

 private:
  kernels::PriorBoxParams params_;
  FloatWriter writer_;
};

}  // namespace

Result<PriorBoxAttributes> PriorBoxAttributes::parse(const Json& params) {
  PriorBoxAttributes a;
  a.grid_of_input = params.is_object() && params.contains("img_size") &&
                    !params.contains("layer_w") && !params.contains("layer_h");
  Json sized = params;
  if (a.grid_of_input) sized["layer_w"] = sized["layer_h"] = 1;
  DVNN_ASSIGN(a.prior, kernels::parse_prior_box(sized));
  return a;
}

Json PriorBoxAttributes::to_json() const {
  Json out = kernels::to_json(prior);
  if (grid_of_input) out.erase("layer_w"), out.erase("layer_h");
  return out;
}

DimsResult PriorBoxAttributes::dims_after(Span<const Shape>) const {
  if (grid_of_input) return unsupported("does not say how large its grid is");
  const int64_t count = int64_t{prior.layer_w} * prior.layer_h * kernels::priors_per_cell(prior);
  if (prior.listed) return std::vector<int64_t>{1, count, 8};
  return std::vector<int64_t>{1, 2, 4 * count};
}

Cost PriorBoxAttributes::cost(Span<const TensorDesc> in, Span<const TensorDesc> out) const {
  return one_look(in, out).keep_floats(elements_of(out));  // the priors
}

LayerResult PriorBoxAttributes::create(Span<const TensorDesc> inputs,
                                       Span<const TensorDesc> outputs) const {
  DVNN_TRY(expect_arity(inputs, 0, 2, outputs));
  kernels::PriorBoxParams p = prior;
  const bool picture = !inputs.empty() && inputs[0].shape.rank == 4;
  if (picture && p.listed) {  // the input's size is the grid's
    p.layer_w = inputs[0].shape.w();
    p.layer_h = inputs[0].shape.h();
  } else if (grid_of_input) {
    return malformed("field 'layer_w' is missing");
  }
  const int64_t floats = int64_t{8} * p.layer_w * p.layer_h * kernels::priors_per_cell(p);
  if (outputs[0].shape.elements() != floats) {
    return malformed(format("makes %lld values, the output's shape is %s",
                            static_cast<long long>(floats), outputs[0].shape.to_string().c_str()));
  }
  return std::unique_ptr<CpuLayer>(new PriorBox(std::move(p), outputs[0]));
}

}  // namespace dvnn::layers
