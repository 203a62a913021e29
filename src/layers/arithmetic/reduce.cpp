// SPDX-License-Identifier: Apache-2.0
// One number of each group of elements: reductions, places of extremes, and groups brought to one
// mean and variance.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "base/json.h"
#include "base/names.h"
#include "base/nth.h"
#include "layers/factories.h"
#include "layers/float_layer.h"
#include "layers/strides.h"

namespace dvnn::layers {
namespace {

// A reduction: add() gathers a group's elements, from `start` on, and finish() makes the result of
// them.
struct NamedReduction {
  const char* name;
  double start;
  double (*add)(double sum, double x);
  double (*finish)(double sum, double count);
};

double plus(double sum, double x) {
  return sum + x;
}

double plus_square(double sum, double x) {
  return sum + x * x;
}

double as_is(double sum, double) {
  return sum;
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// In the order of Reduction. That of exponentials is added up after the largest is known.
constexpr NamedReduction kReductions[] = {
    {"l1", 0, [](double sum, double x) { return sum + std::fabs(x); }, as_is},
    {"l2", 0, plus_square, [](double sum, double) { return std::sqrt(sum); }},
    {"logsum", 0, plus, [](double sum, double) { return std::log(sum); }},
    {"logsumexp", -kInfinity, [](double most, double x) { return std::max(most, x); }, as_is},
    {"max", -kInfinity, [](double most, double x) { return std::max(most, x); }, as_is},
    {"mean", 0, plus, [](double sum, double count) { return sum / count; }},
    {"min", kInfinity, [](double least, double x) { return std::min(least, x); }, as_is},
    {"prod", 1, [](double product, double x) { return product * x; }, as_is},
    {"sum", 0, plus, as_is},
    {"sumsquare", 0, plus_square, as_is},
};
static_assert(std::size(kReductions) == static_cast<size_t>(Reduction::kSumSquare) + 1);

const NamedReduction& row_of(Reduction reduction) {
  return nth(kReductions, reduction);
}

double log_sum_exp(const float* group, const std::vector<uint32_t>& inner, double most) {
  if (!std::isfinite(most)) return most;
  double sum = 0;
  for (uint32_t at : inner) sum += std::exp(static_cast<double>(group[at]) - most);
  return most + std::log(sum);
}

DimsResult reduced(const Shape& shape, const std::vector<int>& axes, bool keep) {
  DVNN_ASSIGN(const auto along, axes_or_all(axes, shape.rank));
  std::vector<int64_t> dims;
  for (int i = 0; i < shape.rank; ++i) {
    const bool goes = std::count(along.begin(), along.end(), i) > 0;
    if (!goes) dims.push_back(shape[i]);
    if (goes && keep) dims.push_back(1);
  }
  if (dims.empty()) dims.push_back(1);  // a number
  return dims;
}

Status expect_groups(const TensorDesc& output, const Groups& groups) {
  if (output.shape.elements() == static_cast<int64_t>(groups.outer.size())) return {};
  return Error{ErrorCode::kMalformed,
               "the output " + output.shape.to_string() + " does not have one element per group"};
}

}  // namespace

Result<Reduction> parse_reduction(const std::string& name) {
  return parse_name<Reduction>(name, kReductions, "operation");
}

Result<ReduceAttributes> ReduceAttributes::parse(const nlohmann::json& params) {
  JsonReader in(params, kName);
  ReduceAttributes a;
  const auto named = parse_reduction(in.text("operation"));
  if (!named.ok()) in.fail("operation", named.error().message);
  a.axes = in.integers("axes", 0, Shape::kMaxRank - 1, Shape::kMaxRank);
  a.keep = in.boolean("keep", true);
  DVNN_TRY(in.status());
  a.operation = named.value();
  return a;
}

nlohmann::json ReduceAttributes::to_json() const {
  return {{"operation", row_of(operation).name}, {"axes", axes}, {"keep", keep}};
}

DimsResult ReduceAttributes::dims_after(Span<const Shape> inputs) const {
  DVNN_TRY(expect_inputs(inputs, 1));
  return reduced(inputs[0], axes, keep);
}

LayerResult ReduceAttributes::create(Span<const TensorDesc> inputs,
                                     Span<const TensorDesc> outputs) const {
  DVNN_TRY(expect_arity(inputs, 1, 1, outputs));
  DVNN_ASSIGN(const auto along, axes_or_all(axes, inputs[0].shape.rank));
  Groups groups = group_along(inputs[0].shape, along);
  DVNN_TRY(expect_groups(outputs[0], groups));
  return make_float_layer(
      inputs, outputs,
      [groups = std::move(groups), row = row_of(operation),
       exponentials = operation == Reduction::kLogSumExp](const float* const* in, float* result) {
        for (uint32_t first : groups.outer) {
          const float* group = in[0] + first;
          double sum = row.start;
          for (uint32_t at : groups.inner) sum = row.add(sum, static_cast<double>(group[at]));
          sum = exponentials ? log_sum_exp(group, groups.inner, sum)
                             : row.finish(sum, static_cast<double>(groups.inner.size()));
          *result++ = static_cast<float>(sum);
        }
      });
}

Result<ArgReduceAttributes> ArgReduceAttributes::parse(const nlohmann::json& params) {
  JsonReader in(params, kName);
  ArgReduceAttributes a;
  const std::string operation = in.text("operation");
  if (operation != "max" && operation != "min") in.fail("operation", "must be max or min");
  a.smallest = operation == "min";
  a.axis = static_cast<int>(in.integer("axis", 0, Shape::kMaxRank - 1, 0));
  a.keep = in.boolean("keep", true);
  a.last = in.boolean("last", false);
  DVNN_TRY(in.status());
  return a;
}

nlohmann::json ArgReduceAttributes::to_json() const {
  return {{"operation", smallest ? "min" : "max"}, {"axis", axis}, {"keep", keep}, {"last", last}};
}

DimsResult ArgReduceAttributes::dims_after(Span<const Shape> inputs) const {
  DVNN_TRY(expect_inputs(inputs, 1));
  return reduced(inputs[0], {axis}, keep);
}

LayerResult ArgReduceAttributes::create(Span<const TensorDesc> inputs,
                                        Span<const TensorDesc> outputs) const {
  DVNN_TRY(expect_arity(inputs, 1, 1, outputs));
  DVNN_ASSIGN(const auto along, axes_or_all({axis}, inputs[0].shape.rank));
  Groups groups = group_along(inputs[0].shape, along);
  DVNN_TRY(expect_groups(outputs[0], groups));
  return make_float_layer(inputs, outputs,
                          [groups = std::move(groups), sign = smallest ? -1.0f : 1.0f, last = last](
                              const float* const* in, float* result) {
                            for (uint32_t first : groups.outer) {
                              const float* group = in[0] + first;
                              size_t best = 0;
                              for (size_t i = 1; i < groups.inner.size(); ++i) {
                                const float x = sign * group[groups.inner[i]];
                                const float most = sign * group[groups.inner[best]];
                                if (x > most || (last && x == most)) best = i;
                              }
                              *result++ = static_cast<float>(best);
                            }
                          });
}

Result<StandardizeAttributes> StandardizeAttributes::parse(const nlohmann::json& params) {
  JsonReader in(params, kName);
  StandardizeAttributes a;
  a.axes = in.integers("axes", 0, Shape::kMaxRank - 1, Shape::kMaxRank);
  a.epsilon = static_cast<float>(in.number("epsilon", 1e-5));
  a.centre = in.boolean("centre", true);
  DVNN_TRY(in.status());
  return a;
}

nlohmann::json StandardizeAttributes::to_json() const {
  return {{"axes", axes}, {"epsilon", epsilon}, {"centre", centre}};
}

DimsResult StandardizeAttributes::dims_after(Span<const Shape> inputs) const {
  DVNN_TRY(expect_inputs(inputs, 1));
  DVNN_TRY(axes_or_all(axes, inputs[0].rank));
  return same_dims(inputs);
}

LayerResult StandardizeAttributes::create(Span<const TensorDesc> inputs,
                                          Span<const TensorDesc> outputs) const {
  DVNN_TRY(expect_arity(inputs, 1, 1, outputs));
  DVNN_TRY(expect_same_elements(inputs[0], outputs[0]));
  DVNN_ASSIGN(const auto along, axes_or_all(axes, inputs[0].shape.rank));
  return make_float_layer(
      inputs, outputs,
      [groups = group_along(inputs[0].shape, along), epsilon = static_cast<double>(epsilon),
       centre = centre](const float* const* in, float* result) {
        const auto count = static_cast<double>(groups.inner.size());
        for (uint32_t first : groups.outer) {
          const float* group = in[0] + first;
          double mean = 0, squares = 0;
          for (uint32_t at : groups.inner) mean += static_cast<double>(group[at]);
          mean = centre ? mean / count : 0;
          for (uint32_t at : groups.inner) {
            const double from_mean = static_cast<double>(group[at]) - mean;
            squares += from_mean * from_mean;
          }
          const double factor = 1 / std::sqrt(squares / count + epsilon);
          for (uint32_t at : groups.inner) {
            result[first + at] =
                static_cast<float>((static_cast<double>(group[at]) - mean) * factor);
          }
        }
      });
}

}  // namespace dvnn::layers
