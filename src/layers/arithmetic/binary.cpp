// SPDX-License-Identifier: Apache-2.0
// Functions of two elements, and choices between two, with broadcasting.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>

#include "base/format.h"
#include "base/json.h"
#include "base/names.h"
#include "base/nth.h"
#include "kernels/elementwise.h"
#include "layers/factories.h"
#include "layers/spans.h"

namespace dvnn::layers {
namespace {

float truth(bool is) {
  return is ? 1.0f : 0.0f;
}

using BinaryFunction = float (*)(float, float);

struct BinaryRow {
  const char* name;
  BinaryFunction operation;
};

// In the order of BinaryOperation.
constexpr BinaryRow kBinaryRows[] = {
    {"add", [](float x, float y) { return x + y; }},
    {"and", [](float x, float y) { return truth(x != 0 && y != 0); }},
    {"div", [](float x, float y) { return x / y; }},
    {"equal", [](float x, float y) { return truth(x == y); }},
    {"fmod", [](float x, float y) { return std::fmod(x, y); }},
    {"greater", [](float x, float y) { return truth(x > y); }},
    {"greaterorequal", [](float x, float y) { return truth(x >= y); }},
    {"less", [](float x, float y) { return truth(x < y); }},
    {"lessorequal", [](float x, float y) { return truth(x <= y); }},
    {"max", [](float x, float y) { return std::max(x, y); }},
    {"min", [](float x, float y) { return std::min(x, y); }},
    {"mod", [](float x, float y) { return x - y * std::floor(x / y); }},
    {"mul", [](float x, float y) { return x * y; }},
    {"or", [](float x, float y) { return truth(x != 0 || y != 0); }},
    {"pow", [](float x, float y) { return std::pow(x, y); }},
    {"sub", [](float x, float y) { return x - y; }},
    {"truncdiv", [](float x, float y) { return std::trunc(x / y); }},
    {"xor", [](float x, float y) { return truth((x != 0) != (y != 0)); }},
};
static_assert(std::size(kBinaryRows) == static_cast<size_t>(BinaryOperation::kXor) + 1);

const BinaryRow& row_of(BinaryOperation operation) {
  return nth(kBinaryRows, operation);
}

// Operations that kernels compute in vectors.
std::optional<kernels::Operation> vector_form(BinaryOperation operation) {
  switch (operation) {
    case BinaryOperation::kAdd:
      return kernels::Operation::kAdd;
    case BinaryOperation::kDiv:
      return kernels::Operation::kDiv;
    case BinaryOperation::kMax:
      return kernels::Operation::kMax;
    case BinaryOperation::kMin:
      return kernels::Operation::kMin;
    case BinaryOperation::kMul:
      return kernels::Operation::kMul;
    case BinaryOperation::kSub:
      return kernels::Operation::kSub;
    default:
      return std::nullopt;
  }
}

DimsResult broadcast_dims(Span<const Shape> inputs) {
  std::vector<int64_t> dims;
  for (const Shape& shape : inputs) {
    const auto rank = static_cast<size_t>(shape.rank);
    if (dims.size() < rank) dims.insert(dims.begin(), rank - dims.size(), 1);
    for (size_t i = 0; i < rank; ++i) {
      int64_t& d = dims[dims.size() - rank + i];
      const int64_t own = shape[static_cast<int>(i)];
      if (own != d && own != 1 && d != 1) {
        return Error{ErrorCode::kUnsupported,
                     inputs[0].to_string() + " and " + shape.to_string() + " do not go together"};
      }
      d = std::max(d, own);
    }
  }
  return dims;
}

Status expect_broadcast(Span<const TensorDesc> inputs, const Shape& out) {
  for (const TensorDesc& input : inputs) {
    const Shape& shape = input.shape;
    bool fits = shape.rank <= out.rank;
    for (int i = 0; fits && i < shape.rank; ++i) {
      const int have = shape[shape.rank - 1 - i];
      fits = have == 1 || have == out[out.rank - 1 - i];
    }
    if (!fits) {
      return Error{ErrorCode::kMalformed,
                   "the input " + shape.to_string() + " does not repeat to " + out.to_string()};
    }
  }
  return {};
}

// compute(in, result, count) makes spans of the result from those of the inputs.
template <typename Compute>
LayerResult make_repeating(size_t count, Span<const TensorDesc> inputs,
                           Span<const TensorDesc> outputs, Compute compute) {
  DVNN_TRY(expect_arity(inputs, count, count, outputs));
  DVNN_TRY(expect_broadcast(inputs, outputs[0].shape));
  return std::unique_ptr<CpuLayer>(new SpanLayer<Compute>(inputs, outputs[0], compute));
}

}  // namespace

Result<BinaryOperation> parse_binary_operation(const std::string& name) {
  return parse_name<BinaryOperation>(name, kBinaryRows, "operation");
}

Result<BinaryAttributes> BinaryAttributes::parse(const Json& params) {
  JsonReader in(params, kName);
  const auto operation = parse_binary_operation(in.text("operation"));
  if (!operation.ok()) in.fail("operation", operation.error().message);
  DVNN_TRY(in.status());
  return BinaryAttributes{operation.value()};
}

Json BinaryAttributes::to_json() const {
  return {{"operation", row_of(operation).name}};
}

DimsResult BinaryAttributes::dims_after(Span<const Shape> inputs) const {
  if (inputs.size() != 2) return Error{ErrorCode::kUnsupported, "needs two inputs"};
  return broadcast_dims(inputs);
}

Cost BinaryAttributes::cost(Span<const TensorDesc> in, Span<const TensorDesc> out) const {
  return spans_cost(in, out);
}

LayerResult BinaryAttributes::create(Span<const TensorDesc> inputs,
                                     Span<const TensorDesc> outputs) const {
  if (const auto known = vector_form(operation)) {
    const kernels::Operation operate = *known;
    return make_repeating(2, inputs, outputs,
                          [operate](const float* const* in, float* result, size_t count) {
                            kernels::operate(operate, in[0], in[1], result, count);
                          });
  }
  const auto function = row_of(operation).operation;
  return make_repeating(2, inputs, outputs,
                        [function](const float* const* in, float* result, size_t count) {
                          for (size_t i = 0; i < count; ++i) {
                            result[i] = function(in[0][i], in[1][i]);
                          }
                        });
}

Result<WhereAttributes> WhereAttributes::parse(const Json&) {
  return WhereAttributes();
}

Json WhereAttributes::to_json() const {
  return Json::object();
}

DimsResult WhereAttributes::dims_after(Span<const Shape> inputs) const {
  if (inputs.size() != 3) return Error{ErrorCode::kUnsupported, "needs three inputs"};
  return broadcast_dims(inputs);
}

Cost WhereAttributes::cost(Span<const TensorDesc> in, Span<const TensorDesc> out) const {
  return spans_cost(in, out).add_work(elements_of(out));
}

LayerResult WhereAttributes::create(Span<const TensorDesc> inputs,
                                    Span<const TensorDesc> outputs) const {
  return make_repeating(3, inputs, outputs,
                        [](const float* const* in, float* result, size_t count) {
                          for (size_t i = 0; i < count; ++i) {
                            result[i] = in[0][i] != 0 ? in[1][i] : in[2][i];
                          }
                        });
}

}  // namespace dvnn::layers
