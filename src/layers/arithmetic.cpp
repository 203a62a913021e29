// SPDX-License-Identifier: Apache-2.0
// Constants, functions of one element, and of two with broadcasting.
#include <algorithm>
#include <cmath>

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

// Sources: the ONNX operators of these names.
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

template <typename Table>
std::string names_of(const Table& table) {
  std::string names;
  for (const auto& entry : table) names += (names.empty() ? "" : ", ") + std::string(entry.name);
  return names;
}

}  // namespace

DVNN_LAYER_FACTORY(create_constant_layer) {
  constexpr size_t kMaxValues = size_t{1} << 24;
  DVNN_TRY(expect_arity(inputs, 0, 0, outputs));
  JsonReader in(params, "Constant");
  std::vector<float> values = in.numbers("values", kMaxValues);
  if (static_cast<int64_t>(values.size()) != outputs[0].shape.elements()) {
    in.fail("values", "are not as many as the output " + outputs[0].shape.to_string() + " has");
  }
  DVNN_TRY(in.status());
  return std::unique_ptr<CpuLayer>(new Constant(std::move(values)));
}

DVNN_LAYER_FACTORY(create_unary_layer) {
  DVNN_TRY(expect_arity(inputs, 1, 1, outputs));
  DVNN_TRY(expect_same_elements(inputs[0], outputs[0]));
  JsonReader in(params, "Unary");
  const std::string name = in.text("function");
  for (const NamedFunction& f : kFunctions) {
    if (name != f.name) continue;
    const float a = f.a ? static_cast<float>(in.number(f.a, f.default_a)) : 0;
    const float b = f.b ? static_cast<float>(in.number(f.b, f.default_b)) : 0;
    DVNN_TRY(in.status());
    return std::unique_ptr<CpuLayer>(new Unary(f.function, a, b, inputs[0], outputs[0]));
  }
  in.fail("function", "'" + name + "' is none of " + names_of(kFunctions));
  return in.status().error();
}

DVNN_LAYER_FACTORY(create_binary_layer) {
  DVNN_TRY(expect_arity(inputs, 2, 2, outputs));
  JsonReader in(params, "Binary");
  const std::string name = in.text("operation");
  const Shape& out = outputs[0].shape;
  for (const TensorDesc& input : inputs) {
    const Shape& shape = input.shape;
    bool fits = shape.rank <= out.rank;
    for (int i = 0; fits && i < shape.rank; ++i) {
      const int have = shape[shape.rank - 1 - i];
      fits = have == 1 || have == out[out.rank - 1 - i];
    }
    if (!fits) {
      in.fail("operation",
              "the input " + shape.to_string() + " does not repeat to " + out.to_string());
    }
  }
  DVNN_TRY(in.status());
  for (const NamedOperation& o : kOperations) {
    if (name == o.name) {
      return std::unique_ptr<CpuLayer>(new Binary(o.operation, inputs, outputs[0]));
    }
  }
  in.fail("operation", "'" + name + "' is none of " + names_of(kOperations));
  return in.status().error();
}

}  // namespace dvnn::layers
