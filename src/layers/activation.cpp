// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"
#include "kernels/curves.h"
#include "layers/element_spans.h"
#include "layers/factories.h"

namespace dvnn::layers {
namespace {

using kernels::Curve;

class Activation final : public CpuLayer {
 public:
  Activation(Curve curve, float parameter, const TensorDesc& input, const TensorDesc& output)
      : curve_(curve), parameter_(parameter), spans_({&input, 1}, output) {}

  Status run(Span<const ConstTensorView> inputs, Span<const TensorView> outputs) override {
    spans_.run(inputs, outputs[0], [this](size_t, const float* in, float* out, size_t count) {
      kernels::apply(curve_, parameter_, 0, in, out, count);
    });
    return {};
  }

 private:
  Curve curve_;
  float parameter_;
  ElementSpans spans_;
};

LayerResult create_activation(Curve curve, float parameter, Span<const TensorDesc> inputs,
                              Span<const TensorDesc> outputs) {
  DVNN_TRY(expect_arity(inputs, 1, 1, outputs));
  DVNN_TRY(expect_same_elements(inputs[0], outputs[0]));
  return std::unique_ptr<CpuLayer>(new Activation(curve, parameter, inputs[0], outputs[0]));
}

}  // namespace

Result<ReluAttributes> ReluAttributes::parse(const Json& params) {
  JsonReader in(params, kName);
  ReluAttributes a;
  a.slope = static_cast<float>(in.number("slope", 0));
  DVNN_TRY(in.status());
  return a;
}

Json ReluAttributes::to_json() const {
  return {{"slope", slope}};
}

DimsResult ReluAttributes::dims_after(Span<const Shape> inputs) const {
  return same_dims(inputs);
}

Cost ReluAttributes::cost(Span<const TensorDesc> in, Span<const TensorDesc> out) const {
  return one_look(in, out);
}

LayerResult ReluAttributes::create(Span<const TensorDesc> inputs,
                                   Span<const TensorDesc> outputs) const {
  return create_activation(Curve::kRelu, slope, inputs, outputs);
}

Result<SigmoidAttributes> SigmoidAttributes::parse(const Json&) {
  return SigmoidAttributes();
}

Json SigmoidAttributes::to_json() const {
  return Json::object();
}

DimsResult SigmoidAttributes::dims_after(Span<const Shape> inputs) const {
  return same_dims(inputs);
}

Cost SigmoidAttributes::cost(Span<const TensorDesc> in, Span<const TensorDesc> out) const {
  return one_look(in, out);
}

LayerResult SigmoidAttributes::create(Span<const TensorDesc> inputs,
                                      Span<const TensorDesc> outputs) const {
  return create_activation(Curve::kSigmoid, 0, inputs, outputs);
}

Result<TanhAttributes> TanhAttributes::parse(const Json&) {
  return TanhAttributes();
}

Json TanhAttributes::to_json() const {
  return Json::object();
}

DimsResult TanhAttributes::dims_after(Span<const Shape> inputs) const {
  return same_dims(inputs);
}

Cost TanhAttributes::cost(Span<const TensorDesc> in, Span<const TensorDesc> out) const {
  return one_look(in, out);
}

LayerResult TanhAttributes::create(Span<const TensorDesc> inputs,
                                   Span<const TensorDesc> outputs) const {
  return create_activation(Curve::kTanh, 0, inputs, outputs);
}

Result<EluAttributes> EluAttributes::parse(const Json& params) {
  JsonReader in(params, kName);
  EluAttributes a;
  a.alpha = static_cast<float>(in.number("alpha", 1));
  DVNN_TRY(in.status());
  return a;
}

Json EluAttributes::to_json() const {
  Json out = Json::object();
  if (alpha != 1) out["alpha"] = alpha;
  return out;
}

DimsResult EluAttributes::dims_after(Span<const Shape> inputs) const {
  return same_dims(inputs);
}

Cost EluAttributes::cost(Span<const TensorDesc> in, Span<const TensorDesc> out) const {
  return one_look(in, out);
}

LayerResult EluAttributes::create(Span<const TensorDesc> inputs,
                                  Span<const TensorDesc> outputs) const {
  return create_activation(Curve::kElu, alpha, inputs, outputs);
}

}  // namespace dvnn::layers
