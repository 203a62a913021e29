// SPDX-License-Identifier: Apache-2.0
// Functions of one element.
#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/json.h"
#include "base/names.h"
#include "base/nth.h"
#include "layers/factories.h"
#include "layers/spans.h"
#include "tensor/half.h"

namespace dvnn::layers {
namespace {

constexpr float kHalfRoot = 0.70710678f, kRootTwoOverPi = 0.79788456f;

float sigmoid(float x) {
  return 1 / (1 + std::exp(-x));
}

float softplus(float x) {
  return std::max(x, 0.0f) + std::log1p(std::exp(-std::fabs(x)));
}

// A function with up to two parameters.
using Function = float (*)(float x, float a, float b);

struct NamedFunction {
  const char* name;
  Function function;
  const char *a, *b;  // parameters, or null
  float default_a, default_b;
};

// In the order of UnaryFunction. Sources: the ONNX operators of these names.
constexpr NamedFunction kFunctions[] = {
    {"abs", [](float x, float, float) { return std::fabs(x); }, nullptr, nullptr, 0, 0},
    {"acos", [](float x, float, float) { return std::acos(x); }, nullptr, nullptr, 0, 0},
    {"acosh", [](float x, float, float) { return std::acosh(x); }, nullptr, nullptr, 0, 0},
    {"asin", [](float x, float, float) { return std::asin(x); }, nullptr, nullptr, 0, 0},
    {"asinh", [](float x, float, float) { return std::asinh(x); }, nullptr, nullptr, 0, 0},
    {"atan", [](float x, float, float) { return std::atan(x); }, nullptr, nullptr, 0, 0},
    {"atanh", [](float x, float, float) { return std::atanh(x); }, nullptr, nullptr, 0, 0},
    {"ceil", [](float x, float, float) { return std::ceil(x); }, nullptr, nullptr, 0, 0},
    {"celu",
     [](float x, float a, float) {
       return std::max(x, 0.0f) + std::min(a * std::expm1(x / a), 0.0f);
     },
     "alpha", nullptr, 1, 0},
    {"clip", [](float x, float a, float b) { return std::min(std::max(x, a), b); }, "min", "max",
     -3.4e38f, 3.4e38f},
    {"cos", [](float x, float, float) { return std::cos(x); }, nullptr, nullptr, 0, 0},
    {"cosh", [](float x, float, float) { return std::cosh(x); }, nullptr, nullptr, 0, 0},
    {"elu", [](float x, float a, float) { return x > 0 ? x : a * std::expm1(x); }, "alpha", nullptr,
     1, 0},
    {"erf", [](float x, float, float) { return std::erf(x); }, nullptr, nullptr, 0, 0},
    {"exp", [](float x, float, float) { return std::exp(x); }, nullptr, nullptr, 0, 0},
    {"floor", [](float x, float, float) { return std::floor(x); }, nullptr, nullptr, 0, 0},
    {"gelu", [](float x, float, float) { return 0.5f * x * (1 + std::erf(x * kHalfRoot)); },
     nullptr, nullptr, 0, 0},
    {"gelutanh",
     [](float x, float, float) {
       return 0.5f * x * (1 + std::tanh(kRootTwoOverPi * (x + 0.044715f * x * x * x)));
     },
     nullptr, nullptr, 0, 0},
    {"half", [](float x, float, float) { return half_to_float(float_to_half(x)); }, nullptr,
     nullptr, 0, 0},
    {"hardsigmoid",
     [](float x, float a, float b) { return std::min(std::max(a * x + b, 0.0f), 1.0f); }, "alpha",
     "beta", 0.2f, 0.5f},
    {"hardswish",
     [](float x, float, float) { return x * std::min(std::max(x / 6 + 0.5f, 0.0f), 1.0f); },
     nullptr, nullptr, 0, 0},
    {"isnan", [](float x, float, float) { return std::isnan(x) ? 1.0f : 0.0f; }, nullptr, nullptr,
     0, 0},
    {"log", [](float x, float, float) { return std::log(x); }, nullptr, nullptr, 0, 0},
    {"mish", [](float x, float, float) { return x * std::tanh(softplus(x)); }, nullptr, nullptr, 0,
     0},
    {"neg", [](float x, float, float) { return -x; }, nullptr, nullptr, 0, 0},
    {"not", [](float x, float, float) { return x == 0 ? 1.0f : 0.0f; }, nullptr, nullptr, 0, 0},
    {"reciprocal", [](float x, float, float) { return 1 / x; }, nullptr, nullptr, 0, 0},
    {"round", [](float x, float, float) { return std::nearbyint(x); }, nullptr, nullptr, 0, 0},
    {"selu", [](float x, float a, float b) { return b * (x > 0 ? x : a * std::expm1(x)); }, "alpha",
     "gamma", 1.67326319217681884765625f, 1.05070102214813232421875f},
    {"shrink", [](float x, float a, float b) { return x < -b  ? x + a
                                                      : x > b ? x - a
                                                              : 0.0f; },
     "bias", "lambd", 0, 0.5f},
    {"sigmoid", [](float x, float, float) { return sigmoid(x); }, nullptr, nullptr, 0, 0},
    {"sign", [](float x, float, float) { return static_cast<float>((x > 0) - (x < 0)); }, nullptr,
     nullptr, 0, 0},
    {"sin", [](float x, float, float) { return std::sin(x); }, nullptr, nullptr, 0, 0},
    {"sinh", [](float x, float, float) { return std::sinh(x); }, nullptr, nullptr, 0, 0},
    {"softplus", [](float x, float, float) { return softplus(x); }, nullptr, nullptr, 0, 0},
    {"softsign", [](float x, float, float) { return x / (1 + std::fabs(x)); }, nullptr, nullptr, 0,
     0},
    {"sqrt", [](float x, float, float) { return std::sqrt(x); }, nullptr, nullptr, 0, 0},
    {"swish", [](float x, float a, float) { return x * sigmoid(a * x); }, "alpha", nullptr, 1, 0},
    {"tan", [](float x, float, float) { return std::tan(x); }, nullptr, nullptr, 0, 0},
    {"tanh", [](float x, float, float) { return std::tanh(x); }, nullptr, nullptr, 0, 0},
    {"thresholdedrelu", [](float x, float a, float) { return x > a ? x : 0.0f; }, "alpha", nullptr,
     1, 0},
    {"trunc", [](float x, float, float) { return std::trunc(x); }, nullptr, nullptr, 0, 0},
};
static_assert(std::size(kFunctions) == static_cast<size_t>(UnaryFunction::kTrunc) + 1);

const NamedFunction& row_of(UnaryFunction function) {
  return nth(kFunctions, function);
}

// Functions that kernels compute in vectors.
constexpr struct {
  UnaryFunction function;
  kernels::Curve curve;
} kCurves[] = {
    {UnaryFunction::kAbs, kernels::Curve::kAbs},
    {UnaryFunction::kClip, kernels::Curve::kClip},
    {UnaryFunction::kElu, kernels::Curve::kElu},
    {UnaryFunction::kErf, kernels::Curve::kErf},
    {UnaryFunction::kExp, kernels::Curve::kExp},
    {UnaryFunction::kGelu, kernels::Curve::kGelu},
    {UnaryFunction::kGeluTanh, kernels::Curve::kGeluTanh},
    {UnaryFunction::kHardSigmoid, kernels::Curve::kHardSigmoid},
    {UnaryFunction::kHardSwish, kernels::Curve::kHardSwish},
    {UnaryFunction::kLog, kernels::Curve::kLog},
    {UnaryFunction::kMish, kernels::Curve::kMish},
    {UnaryFunction::kReciprocal, kernels::Curve::kReciprocal},
    {UnaryFunction::kSigmoid, kernels::Curve::kSigmoid},
    {UnaryFunction::kSoftplus, kernels::Curve::kSoftplus},
    {UnaryFunction::kSqrt, kernels::Curve::kSqrt},
    {UnaryFunction::kSwish, kernels::Curve::kSwish},
    {UnaryFunction::kTanh, kernels::Curve::kTanh},
};

}  // namespace

std::optional<CurveOf> curve_of(const UnaryAttributes& unary) {
  for (const auto& known : kCurves) {
    if (known.function != unary.function) continue;
    const NamedFunction& row = row_of(unary.function);
    return CurveOf{known.curve, unary.a.value_or(row.default_a), unary.b.value_or(row.default_b)};
  }
  return std::nullopt;
}

Result<UnaryFunction> parse_unary_function(const std::string& name) {
  return parse_name<UnaryFunction>(name, kFunctions, "function");
}

Result<UnaryAttributes> UnaryAttributes::parse(const Json& params) {
  JsonReader in(params, kName);
  UnaryAttributes attributes;
  const auto function = parse_unary_function(in.text("function"));
  if (!function.ok()) in.fail("function", function.error().message);
  DVNN_TRY(in.status());
  attributes.function = function.value();
  const NamedFunction& row = row_of(attributes.function);
  auto number = [&](const char* name) -> std::optional<float> {
    if (!name || !in.member(name)) return std::nullopt;
    return static_cast<float>(in.number(name));
  };
  attributes.a = number(row.a);
  attributes.b = number(row.b);
  DVNN_TRY(in.status());
  return attributes;
}

Json UnaryAttributes::to_json() const {
  const NamedFunction& row = row_of(function);
  Json out = {{"function", row.name}};
  if (row.a && a) out[row.a] = *a;
  if (row.b && b) out[row.b] = *b;
  return out;
}

DimsResult UnaryAttributes::dims_after(Span<const Shape> inputs) const {
  return same_dims(inputs);
}

Cost UnaryAttributes::cost(Span<const TensorDesc> in, Span<const TensorDesc> out) const {
  return spans_cost(in, out);
}

LayerResult UnaryAttributes::create(Span<const TensorDesc> inputs,
                                    Span<const TensorDesc> outputs) const {
  if (const auto curve = curve_of(*this)) return make_curve_layer(*curve, inputs, outputs);
  const NamedFunction& row = row_of(function);
  const float x = a.value_or(row.default_a), y = b.value_or(row.default_b);
  return make_function_layer(inputs, outputs,
                             [f = row.function, x, y](const float* in, float* out, size_t count) {
                               for (size_t i = 0; i < count; ++i) out[i] = f(in[i], x, y);
                             });
}

}  // namespace dvnn::layers
