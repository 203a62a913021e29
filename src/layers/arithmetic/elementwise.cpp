// SPDX-License-Identifier: Apache-2.0
// Elementwise functions: a span of each operand is converted, goes through all steps while it is in
// the first-level cache, and is rounded once.
#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "base/json.h"
#include "base/names.h"
#include "base/nth.h"
#include "base/numbers.h"
#include "layers/attributes/fields.h"
#include "layers/factories.h"
#include "layers/loops/spans.h"

namespace dvnn::layers {
namespace {

using kernels::Curve;
using kernels::Operation;
using Step = ElementwiseAttributes::Step;

// In the enums' order.
constexpr const char* kCurveNames[] = {
    "abs",         "clip",      "elu",  "erf",   "exp",      "gelu",  "gelutanh",
    "hardsigmoid", "hardswish", "line", "log",   "mish",     "relu",  "reciprocal",
    "sigmoid",     "softplus",  "sqrt", "swish", "tanh",     "acos",  "acosh",
    "asin",        "asinh",     "atan", "atanh", "ceil",     "celu",  "cos",
    "cosh",        "floor",     "half", "isnan", "not",      "round", "selu",
    "shrink",      "sign",      "sin",  "sinh",  "softsign", "tan",   "thresholdedrelu",
    "trunc"};
constexpr const char* kOperationNames[] = {"add",   "div",         "max",     "min",
                                           "mul",   "prelu",       "sub",     "and",
                                           "equal", "fmod",        "greater", "greaterorequal",
                                           "less",  "lessorequal", "mod",     "or",
                                           "pow",   "truncdiv",    "xor"};
static_assert(std::size(kCurveNames) == static_cast<size_t>(Curve::kTrunc) + 1);
static_assert(std::size(kOperationNames) == static_cast<size_t>(Operation::kXor) + 1);

static_assert(ElementwiseAttributes::kMostValues == Spans::kMostValues);

constexpr size_t kMostChannels = 1 << 20;

class Elementwise final : public CpuLayer {
 public:
  Elementwise(const ElementwiseAttributes& attributes, Span<const TensorDesc> inputs,
              const TensorDesc& output)
      : constants_(attributes.constants),
        steps_(attributes.steps),
        spans_(inputs, output, constants_) {}

  Status run(Span<const ConstTensorView> inputs, Span<const TensorView> outputs) override {
    const size_t operands = inputs.size() + constants_.size();
    spans_.run(inputs, outputs[0],
               [this, operands](const float** at, Spans::Room* rooms, float* result, size_t count) {
                 size_t made = operands;
                 for (const Step& step : steps_) {
                   float* const to = &step == &steps_.back() ? result : rooms[made];
                   compute(step, at, to, count);
                   at[made++] = to;
                 }
               });
    return {};
  }

 private:
  static void compute(const Step& step, const float* const* at, float* to, size_t count) {
    if (step.combines) {
      kernels::operate(step.operation, at[step.x], at[step.y], to, count);
    } else {
      kernels::apply(step.curve, step.a, step.b, at[step.x], to, count);
    }
  }

  std::vector<std::vector<float>> constants_;
  std::vector<Step> steps_;
  Spans spans_;
};

// Chooses between two inputs by a third. A layer of its own, as no step has three operands.
class Where final : public CpuLayer {
 public:
  Where(Span<const TensorDesc> inputs, const TensorDesc& output) : spans_(inputs, output) {}

  Status run(Span<const ConstTensorView> inputs, Span<const TensorView> outputs) override {
    spans_.run(inputs, outputs[0], [](const float** at, Spans::Room*, float* result, size_t count) {
      for (size_t i = 0; i < count; ++i) {
        result[i] = at[0][i] != 0 ? at[1][i] : at[2][i];
      }
    });
    return {};
  }

 private:
  Spans spans_;
};

Result<Step> parse_step(const Json& json, size_t before) {
  JsonReader in(json, "steps");
  Step step;
  const std::string name = in.text("function");
  const auto operation = parse_operation(name);
  step.combines = operation.ok();
  if (step.combines) {
    step.operation = operation.value();
  } else {
    const auto curve = parse_curve(name);
    if (!curve.ok()) in.fail("function", curve.error().message);
    if (curve.ok()) step.curve = curve.value();
    step.a = static_cast<float>(in.number("a", 0));
    step.b = static_cast<float>(in.number("b", 0));
  }
  // A step may read only the `before` values made earlier.
  const std::vector<int> of = in.integers("of", 0, static_cast<int64_t>(before) - 1, 2);
  if (of.size() != (step.combines ? 2u : 1u)) in.fail("of", "needs one number per operand");
  DVNN_TRY(in.status());
  step.x = of[0];
  step.y = of.back();
  return step;
}

Json to_json(const Step& step) {
  if (step.combines) {
    return {{"function", nth(kOperationNames, step.operation)}, {"of", {step.x, step.y}}};
  }
  Json out = {{"function", nth(kCurveNames, step.curve)}, {"of", {step.x}}};
  if (step.a != 0) out["a"] = step.a;
  if (step.b != 0) out["b"] = step.b;
  return out;
}

// Returns the elements of a list of at most `most`.
Result<std::vector<const Json*>> list_of(JsonReader* in, const char* name, size_t most) {
  std::vector<const Json*> items;
  const Json* list = in->member(name);
  if (!list) return items;
  if (!list->is_array() || list->size() > most) {
    in->fail(name, format("must be a list of at most %zu", most));
  } else {
    for (const auto& item : *list) items.push_back(&item);
  }
  DVNN_TRY(in->status());
  return items;
}

}  // namespace

Result<Curve> parse_curve(const std::string& name) {
  return parse_name<Curve>(name, kCurveNames, "function");
}

Result<Operation> parse_operation(const std::string& name) {
  return parse_name<Operation>(name, kOperationNames, "function");
}

Result<ElementwiseAttributes> ElementwiseAttributes::parse(const Json& params) {
  JsonReader in(params, kName);
  ElementwiseAttributes a;
  a.inputs = static_cast<int>(in.integer("inputs", 1, static_cast<int64_t>(kMostInputs)));
  DVNN_ASSIGN(const auto lists, list_of(&in, "constants", kMostConstants));
  for (const Json* list : lists) {
    const Json holder = {{"values", *list}};
    JsonReader values(holder, "constants");
    a.constants.push_back(values.numbers("values", kMostChannels, true));
    DVNN_TRY(values.status());
  }
  DVNN_ASSIGN(const auto steps, list_of(&in, "steps", kMostSteps));
  a.wide = in.boolean("wide", false);
  size_t values = static_cast<size_t>(a.inputs) + lists.size();
  if (steps.empty()) in.fail("steps", "is empty");
  if (values + steps.size() > kMostValues) {
    in.fail("steps", format("makes more than %zu values with inputs and constants", kMostValues));
  }
  DVNN_TRY(in.status());
  for (const Json* step : steps) {
    DVNN_ASSIGN(Step parsed, parse_step(*step, values++));
    a.steps.push_back(parsed);
  }
  return a;
}

Json ElementwiseAttributes::to_json() const {
  Json out = {{"inputs", inputs}, {"steps", Json::array()}};
  for (const std::vector<float>& list : constants) {
    const bool plain =
        std::all_of(list.begin(), list.end(), [](float x) { return std::isfinite(x); });
    out["constants"].push_back(plain ? Json(list) : packed_numbers(list));
  }
  if (wide) out["wide"] = true;
  for (const Step& step : steps) out["steps"].push_back(layers::to_json(step));
  return out;
}

DimsResult ElementwiseAttributes::dims_after(Span<const Shape> shapes) const {
  DVNN_TRY(expect_inputs(shapes, static_cast<size_t>(inputs)));
  return broadcast_dims(shapes);
}

Cost ElementwiseAttributes::cost(Span<const TensorDesc> in, Span<const TensorDesc> out) const {
  return spans_cost(in, out).add_work(saturating_product(elements_of(out), steps.size()));
}

LayerResult ElementwiseAttributes::create(Span<const TensorDesc> in,
                                          Span<const TensorDesc> out) const {
  const auto wanted = static_cast<size_t>(inputs);
  DVNN_TRY(expect_arity(in, wanted, wanted, out));
  DVNN_TRY(Spans::check(in, out[0]));
  const Shape& shape = out[0].shape;
  const size_t channels = shape.extent(channel_axis(shape));
  for (const auto& values : constants) {
    if (values.size() == 1 || values.size() == channels) continue;
    return malformed(format("a constant has %zu values for %zu channels", values.size(), channels));
  }
  return std::unique_ptr<CpuLayer>(new Elementwise(*this, in, out[0]));
}

void WhereAttributes::fields(Fields*) {}

DimsResult WhereAttributes::dims_after(Span<const Shape> inputs) const {
  DVNN_TRY(expect_inputs(inputs, 3));
  return broadcast_dims(inputs);
}

Cost WhereAttributes::cost(Span<const TensorDesc> in, Span<const TensorDesc> out) const {
  return spans_cost(in, out).add_work(elements_of(out));
}

LayerResult WhereAttributes::create(Span<const TensorDesc> inputs,
                                    Span<const TensorDesc> outputs) const {
  DVNN_TRY(expect_arity(inputs, 3, 3, outputs));
  DVNN_TRY(Spans::check(inputs, outputs[0]));
  return std::unique_ptr<CpuLayer>(new Where(inputs, outputs[0]));
}

}  // namespace dvnn::layers
