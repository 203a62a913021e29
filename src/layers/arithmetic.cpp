// SPDX-License-Identifier: Apache-2.0
// Constants, functions of one element, and of two with broadcasting.
#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "base/json.h"
#include "layers/element_spans.h"
#include "layers/factories.h"

namespace dvnn::layers {
namespace {

class Constant final : public CpuLayer {
 public:
  explicit Constant(std::vector<float> values) : values_(std::move(values)) {}
  Status run(Span<const ConstTensorView>, Span<const TensorView> outputs) override {
    write_nchw(values_.data(), outputs[0]);
    return {};
  }

 private:
  std::vector<float> values_;
};

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
    {"ceil", [](float x, float, float) { return std::ceil(x); }, nullptr, nullptr, 0, 0},
    {"clip", [](float x, float a, float b) { return std::min(std::max(x, a), b); }, "min", "max",
     -3.4e38f, 3.4e38f},
    {"exp", [](float x, float, float) { return std::exp(x); }, nullptr, nullptr, 0, 0},
    {"floor", [](float x, float, float) { return std::floor(x); }, nullptr, nullptr, 0, 0},
    {"hardsigmoid",
     [](float x, float a, float b) { return std::min(std::max(a * x + b, 0.0f), 1.0f); }, "alpha",
     "beta", 0.2f, 0.5f},
    {"hardswish",
     [](float x, float, float) { return x * std::min(std::max(x / 6 + 0.5f, 0.0f), 1.0f); },
     nullptr, nullptr, 0, 0},
    {"log", [](float x, float, float) { return std::log(x); }, nullptr, nullptr, 0, 0},
    {"neg", [](float x, float, float) { return -x; }, nullptr, nullptr, 0, 0},
    {"reciprocal", [](float x, float, float) { return 1 / x; }, nullptr, nullptr, 0, 0},
    {"softplus",
     [](float x, float, float) { return std::max(x, 0.0f) + std::log1p(std::exp(-std::fabs(x))); },
     nullptr, nullptr, 0, 0},
    {"sqrt", [](float x, float, float) { return std::sqrt(x); }, nullptr, nullptr, 0, 0},
};

class Unary final : public CpuLayer {
 public:
  Unary(Function function, float a, float b, const TensorDesc& input, const TensorDesc& output)
      : function_(function), a_(a), b_(b), spans_({&input, 1}, output) {}
  Status run(Span<const ConstTensorView> inputs, Span<const TensorView> outputs) override {
    spans_.run(inputs, outputs[0], [this](size_t, const float* in, float* out, size_t count) {
      for (size_t i = 0; i < count; ++i) out[i] = function_(in[i], a_, b_);
    });
    return {};
  }

 private:
  Function function_;
  float a_, b_;
  ElementSpans spans_;
};

using Operation = float (*)(float, float);

struct NamedOperation {
  const char* name;
  Operation operation;
};

// In the order of BinaryOperation.
constexpr NamedOperation kOperations[] = {
    {"add", [](float x, float y) { return x + y; }},
    {"div", [](float x, float y) { return x / y; }},
    {"max", [](float x, float y) { return std::max(x, y); }},
    {"min", [](float x, float y) { return std::min(x, y); }},
    {"mul", [](float x, float y) { return x * y; }},
    {"pow", [](float x, float y) { return std::pow(x, y); }},
    {"sub", [](float x, float y) { return x - y; }},
};

// Where the operand's element for each of the result's is: dimensions of 1 repeat. Four bytes each:
// a tensor has at most 2^28 elements. Empty: it is the same for all.
std::vector<uint32_t> broadcast_index(const Shape& from, const Shape& to) {
  if (from.elements() == to.elements()) return {};
  std::vector<uint32_t> index(static_cast<size_t>(to.elements()));
  for (size_t n = 0; n < index.size(); ++n) {
    size_t rest = n, at = 0, stride = 1;
    for (int i = to.rank - 1; i >= 0; --i) {
      const size_t here = rest % static_cast<size_t>(to[i]);
      rest /= static_cast<size_t>(to[i]);
      const int f = i - (to.rank - from.rank);
      if (f < 0) continue;
      if (from[f] != 1) at += here * stride;
      stride *= static_cast<size_t>(from[f]);
    }
    index[n] = static_cast<uint32_t>(at);
  }
  return index;
}

class Binary final : public CpuLayer {
 public:
  Binary(Operation operation, Span<const TensorDesc> inputs, const TensorDesc& output)
      : operation_(operation),
        first_(inputs[0]),
        second_(inputs[1]),
        first_index_(broadcast_index(inputs[0].shape, output.shape)),
        second_index_(broadcast_index(inputs[1].shape, output.shape)),
        count_(static_cast<size_t>(output.shape.elements())) {}
  Status run(Span<const ConstTensorView> inputs, Span<const TensorView> outputs) override {
    const float *a = first_.read(inputs[0]), *b = second_.read(inputs[1]);
    // The output may share memory with an input of which an element is read several times.
    float* const result = Workspace::current().floats(count_);
    const uint32_t* const i = first_index_.empty() ? nullptr : first_index_.data();
    const uint32_t* const k = second_index_.empty() ? nullptr : second_index_.data();
    for (size_t n = 0; n < count_; ++n) {
      result[n] = operation_(a[i ? i[n] : n], b[k ? k[n] : n]);
    }
    write_nchw(result, outputs[0]);
    return {};
  }

 private:
  Operation operation_;
  FloatReader first_, second_;
  std::vector<uint32_t> first_index_, second_index_;
  size_t count_;
};

static_assert(std::size(kFunctions) == static_cast<size_t>(UnaryFunction::kSqrt) + 1);
static_assert(std::size(kOperations) == static_cast<size_t>(BinaryOperation::kSub) + 1);

const NamedFunction& row_of(UnaryFunction function) {
  return kFunctions[static_cast<size_t>(function)];
}

const NamedOperation& row_of(BinaryOperation operation) {
  return kOperations[static_cast<size_t>(operation)];
}

// The value of an enum whose names are a table's, in its order.
template <typename Enum, typename Row, size_t N>
Result<Enum> find_name(const Row (&table)[N], const std::string& name) {
  std::string known;
  for (size_t i = 0; i < N; ++i) {
    if (name == table[i].name) return static_cast<Enum>(i);
    known += (i ? ", " : "") + std::string(table[i].name);
  }
  return Error{ErrorCode::kMalformed, "'" + short_text(name, 40) + "' is none of " + known};
}

}  // namespace

Result<BinaryOperation> parse_binary_operation(const std::string& name) {
  return find_name<BinaryOperation>(kOperations, name);
}

Result<UnaryFunction> parse_unary_function(const std::string& name) {
  return find_name<UnaryFunction>(kFunctions, name);
}

Result<ConstantAttributes> ConstantAttributes::parse(const nlohmann::json& params) {
  constexpr size_t kMaxValues = size_t{1} << 24;
  JsonReader in(params, kName);
  ConstantAttributes a;
  a.values = in.numbers("values", kMaxValues);
  DVNN_TRY(in.status());
  return a;
}

nlohmann::json ConstantAttributes::to_json() const {
  return {{"values", values}};
}

DimsResult ConstantAttributes::dims_after(Span<const Shape>) const {
  return std::vector<int64_t>(shape.dims, shape.dims + shape.rank);
}

LayerResult ConstantAttributes::create(Span<const TensorDesc> inputs,
                                       Span<const TensorDesc> outputs) const {
  DVNN_TRY(expect_arity(inputs, 0, 0, outputs));
  if (static_cast<int64_t>(values.size()) != outputs[0].shape.elements()) {
    return Error{ErrorCode::kMalformed, "field 'values' has " + std::to_string(values.size()) +
                                            " numbers, not those of the output " +
                                            outputs[0].shape.to_string()};
  }
  return std::unique_ptr<CpuLayer>(new Constant(values));
}

Result<UnaryAttributes> UnaryAttributes::parse(const nlohmann::json& params) {
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

nlohmann::json UnaryAttributes::to_json() const {
  const NamedFunction& row = row_of(function);
  nlohmann::json out = {{"function", row.name}};
  if (row.a && a) out[row.a] = *a;
  if (row.b && b) out[row.b] = *b;
  return out;
}

DimsResult UnaryAttributes::dims_after(Span<const Shape> inputs) const {
  return same_dims(inputs);
}

LayerResult UnaryAttributes::create(Span<const TensorDesc> inputs,
                                    Span<const TensorDesc> outputs) const {
  DVNN_TRY(expect_arity(inputs, 1, 1, outputs));
  DVNN_TRY(expect_same_elements(inputs[0], outputs[0]));
  const NamedFunction& row = row_of(function);
  return std::unique_ptr<CpuLayer>(new Unary(row.function, a.value_or(row.default_a),
                                             b.value_or(row.default_b), inputs[0], outputs[0]));
}

Result<BinaryAttributes> BinaryAttributes::parse(const nlohmann::json& params) {
  JsonReader in(params, kName);
  const auto operation = parse_binary_operation(in.text("operation"));
  if (!operation.ok()) in.fail("operation", operation.error().message);
  DVNN_TRY(in.status());
  return BinaryAttributes{operation.value()};
}

nlohmann::json BinaryAttributes::to_json() const {
  return {{"operation", row_of(operation).name}};
}

DimsResult BinaryAttributes::dims_after(Span<const Shape> inputs) const {
  if (inputs.size() != 2) return Error{ErrorCode::kUnsupported, "needs two inputs"};
  const Shape &x = inputs[0], &y = inputs[1];
  const int rank = std::max(x.rank, y.rank);
  std::vector<int64_t> dims;
  for (int i = 0; i < rank; ++i) {
    const int p = i - (rank - x.rank), q = i - (rank - y.rank);
    const int m = p < 0 ? 1 : x[p], n = q < 0 ? 1 : y[q];
    if (m != n && m != 1 && n != 1) {
      return Error{ErrorCode::kUnsupported,
                   x.to_string() + " and " + y.to_string() + " do not go together"};
    }
    dims.push_back(std::max(m, n));
  }
  return dims;
}

LayerResult BinaryAttributes::create(Span<const TensorDesc> inputs,
                                     Span<const TensorDesc> outputs) const {
  DVNN_TRY(expect_arity(inputs, 2, 2, outputs));
  const Shape& out = outputs[0].shape;
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
  return std::unique_ptr<CpuLayer>(new Binary(row_of(operation).operation, inputs, outputs[0]));
}

}  // namespace dvnn::layers
