// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"
#include "kernels/curves.h"
#include "layers/factories.h"
#include "layers/spans.h"

namespace dvnn::layers {
using kernels::Curve;

LayerResult make_curve_layer(const CurveOf& by, Span<const TensorDesc> inputs,
                             Span<const TensorDesc> outputs) {
  return make_function_layer(inputs, outputs, [by](const float* in, float* out, size_t count) {
    kernels::apply(by.curve, by.a, by.b, in, out, count);
  });
}

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
  return spans_cost(in, out);
}

LayerResult ReluAttributes::create(Span<const TensorDesc> inputs,
                                   Span<const TensorDesc> outputs) const {
  return make_curve_layer({Curve::kRelu, slope, 0}, inputs, outputs);
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
  return spans_cost(in, out);
}

LayerResult SigmoidAttributes::create(Span<const TensorDesc> inputs,
                                      Span<const TensorDesc> outputs) const {
  return make_curve_layer({Curve::kSigmoid, 0, 0}, inputs, outputs);
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
  return spans_cost(in, out);
}

LayerResult TanhAttributes::create(Span<const TensorDesc> inputs,
                                   Span<const TensorDesc> outputs) const {
  return make_curve_layer({Curve::kTanh, 0, 0}, inputs, outputs);
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
  return spans_cost(in, out);
}

LayerResult EluAttributes::create(Span<const TensorDesc> inputs,
                                  Span<const TensorDesc> outputs) const {
  return make_curve_layer({Curve::kElu, alpha, 0}, inputs, outputs);
}

}  // namespace dvnn::layers
