// SPDX-License-Identifier: Apache-2.0
// Functions of two elements, and choices between two, with broadcasting.
#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/format.h"
#include "base/json.h"
#include "base/names.h"
#include "base/nth.h"
#include "base/share.h"
#include "layers/factories.h"
#include "layers/float_layer.h"
#include "layers/strides.h"

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

// Returns where the operand's element for each of the result's is: dimensions of 1 repeat. Four
// bytes each: a tensor has at most 2^28 elements. Empty: it is at the same place.
std::vector<uint32_t> broadcast_index(const Shape& from, const Shape& to) {
  if (from.elements() == to.elements()) return {};
  std::vector<uint32_t> index;
  index.reserve(static_cast<size_t>(to.elements()));
  walk(to, broadcast_strides(from, to), 0,
       [&](int64_t at) { index.push_back(static_cast<uint32_t>(at)); });
  return index;
}

// An operand of a broadcast result.
class Operand {
 public:
  Operand(const Shape& from, const Shape& to) : index_(broadcast_index(from, to)) {}
  float at(const float* in, size_t n) const { return in[index_.empty() ? n : index_[n]]; }

 private:
  std::vector<uint32_t> index_;
};

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

// Each result is function(operand), where operand(k) is the element of the k-th input for it.
template <typename Function>
LayerResult make_broadcast_layer(size_t count, Span<const TensorDesc> inputs,
                                 Span<const TensorDesc> outputs, Function function) {
  DVNN_TRY(expect_arity(inputs, count, count, outputs));
  const Shape& out = outputs[0].shape;
  DVNN_TRY(expect_broadcast(inputs, out));
  std::vector<Operand> operands;
  for (const TensorDesc& input : inputs) operands.emplace_back(input.shape, out);
  return make_float_layer(
      inputs, outputs,
      [operands = std::move(operands), function, elements = static_cast<size_t>(out.elements())](
          const float* const* in, float* result) {
        constexpr size_t kTask = 1 << 13;
        share(static_cast<int>((elements + kTask - 1) / kTask), [&](int i) {
          const size_t begin = static_cast<size_t>(i) * kTask;
          for (size_t n = begin; n < std::min(elements, begin + kTask); ++n) {
            result[n] = function([&](size_t k) { return operands[k].at(in[k], n); });
          }
        });
      });
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

LayerResult BinaryAttributes::create(Span<const TensorDesc> inputs,
                                     Span<const TensorDesc> outputs) const {
  const auto function = row_of(operation).operation;
  return make_broadcast_layer(
      2, inputs, outputs, [function](auto operand) { return function(operand(0), operand(1)); });
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

LayerResult WhereAttributes::create(Span<const TensorDesc> inputs,
                                    Span<const TensorDesc> outputs) const {
  return make_broadcast_layer(
      3, inputs, outputs, [](auto operand) { return operand(0) != 0 ? operand(1) : operand(2); });
}

}  // namespace dvnn::layers
