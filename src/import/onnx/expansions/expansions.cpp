// SPDX-License-Identifier: Apache-2.0
#include "import/onnx/expansions/expansions.h"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <sstream>

#include "base/format.h"

namespace dvnn::import {
namespace {

constexpr const char* kOnnx = "";
constexpr const char* kMicrosoft = "com.microsoft";

// A body has lines `result = Operator(argument, ...)`. [*] gives the operator all attributes of the
// node, [name=1] a whole number, and [name=!other] 1 if the node's attribute `other` is 0 or
// absent. A number as an argument is a constant. If the node lacks a line's first argument, the
// line and its result are left out. `Operator?` passes its first argument on if another one is
// absent.
struct Expansion {
  const char* domain;
  const char* type;
  const char* inputs;
  const char* outputs;
  const char* body;
};

constexpr Expansion kExpansions[] = {
    {kOnnx, "ConvInteger", "x w xz wz", "y",
     "fx = Sub?(x, xz); fw = DequantizeLinear[axis=0](w, 1, wz); y = Conv[*](fx, fw)"},
    {kOnnx, "DynamicQuantizeLinear", "x", "y s z",
     "top = ReduceMax[keepdims=0](x); high = Max(top, 0);"
     "bottom = ReduceMin[keepdims=0](x); low = Min(bottom, 0);"
     "range = Sub(high, low); exact = Div(range, 255); s = Max(exact, 1e-30);"
     "steps = Div(low, s); shift = Neg(steps); near = Clip(shift, 0, 255); z = Round(near);"
     "scaled = Div(x, s); whole = Round(scaled); moved = Add(whole, z); y = Clip(moved, 0, 255)"},
    {kOnnx, "IsInf", "x", "y", "a = Abs(x); y = Greater(a, 3.4028234e38)"},
    {kOnnx, "MatMulInteger", "a b az bz", "y",
     "fa = Sub?(a, az); fb = Sub?(b, bz); y = MatMul(fa, fb)"},
    {kOnnx, "QLinearConv", "x xs xz w ws wz ys yz b", "y",
     "fx = DequantizeLinear(x, xs, xz); fw = DequantizeLinear[axis=0](w, ws, wz);"
     "bs = Mul(xs, ws); fb = Mul(b, bs);"
     "f = Conv[*](fx, fw, fb); y = QuantizeLinear(f, ys, yz)"},
    {kOnnx, "QLinearMatMul", "a as az b bs bz ys yz", "y",
     "fa = DequantizeLinear(a, as, az); fb = DequantizeLinear(b, bs, bz);"
     "f = MatMul(fa, fb); y = QuantizeLinear(f, ys, yz)"},
    {kOnnx, "SimplifiedLayerNormalization", "x scale", "y", "y = RMSNormalization[*](x, scale)"},
    {kMicrosoft, "BiasGelu", "x b", "y", "m = Add(x, b); y = Gelu(m)"},
    {kMicrosoft, "DequantizeLinear", "x s z", "y", "y = DequantizeLinear[*](x, s, z)"},
    {kMicrosoft, "DynamicQuantizeMatMul", "a b bs bz c", "y",
     "fb = DequantizeLinear(b, bs, bz); f = MatMul(a, fb); y = Add?(f, c)"},
    {kMicrosoft, "FastGelu", "x b", "y", "m = Add?(x, b); y = Gelu[approximate=tanh](m)"},
    {kMicrosoft, "Gelu", "x", "y", "y = Gelu(x)"},
    {kMicrosoft, "LayerNormalization", "x scale shift", "y mean deviation",
     "y = LayerNormalization[*](x, scale, shift)"},
    {kMicrosoft, "MatMulIntegerToFloat", "a b as bs az bz c", "y",
     "fa = DequantizeLinear(a, as, az); fb = DequantizeLinear(b, bs, bz);"
     "f = MatMul(fa, fb); y = Add?(f, c)"},
    {kMicrosoft, "QGemm", "a as az b bs bz c ys yz", "y",
     "fa = DequantizeLinear(a, as, az); fb = DequantizeLinear[axis=!transB](b, bs, bz);"
     "cs = Mul(as, bs); fc = Mul(c, cs);"
     "f = Gemm[*](fa, fb, fc); y = QuantizeLinear?(f, ys, yz)"},
    {kMicrosoft, "QLinearAdd", "a as az b bs bz ys yz", "y",
     "fa = DequantizeLinear(a, as, az); fb = DequantizeLinear(b, bs, bz);"
     "f = Add(fa, fb); y = QuantizeLinear(f, ys, yz)"},
    {kMicrosoft, "QLinearAveragePool", "x xs xz ys yz", "y",
     "fx = DequantizeLinear(x, xs, xz); f = AveragePool[*](fx); y = QuantizeLinear(f, ys, yz)"},
    {kMicrosoft, "QLinearGlobalAveragePool", "x xs xz ys yz", "y",
     "fx = DequantizeLinear(x, xs, xz); f = GlobalAveragePool(fx);"
     "y = QuantizeLinear(f, ys, yz)"},
    {kMicrosoft, "QLinearLeakyRelu", "x xs xz ys yz", "y",
     "fx = DequantizeLinear(x, xs, xz); f = LeakyRelu[*](fx); y = QuantizeLinear(f, ys, yz)"},
    {kMicrosoft, "QLinearMul", "a as az b bs bz ys yz", "y",
     "fa = DequantizeLinear(a, as, az); fb = DequantizeLinear(b, bs, bz);"
     "f = Mul(fa, fb); y = QuantizeLinear(f, ys, yz)"},
    {kMicrosoft, "QLinearSigmoid", "x xs xz ys yz", "y",
     "fx = DequantizeLinear(x, xs, xz); f = Sigmoid(fx); y = QuantizeLinear(f, ys, yz)"},
    {kMicrosoft, "QLinearSoftmax", "x xs xz ys yz", "y",
     "fx = DequantizeLinear(x, xs, xz); f = Softmax[*](fx); y = QuantizeLinear(f, ys, yz)"},
    {kMicrosoft, "QuantizeLinear", "x s z", "y", "y = QuantizeLinear[*](x, s, z)"},
    {kMicrosoft, "QuickGelu", "x", "y", "y = Swish[*](x)"},
    {kMicrosoft, "SkipLayerNormalization", "x skip scale shift b", "y mean deviation sum",
     "added = Add(x, skip); sum = Add?(added, b); y = LayerNormalization[*](sum, scale, shift)"},
    {kMicrosoft, "SkipSimplifiedLayerNormalization", "x skip scale b", "y mean deviation sum",
     "added = Add(x, skip); sum = Add?(added, b); y = RMSNormalization[*](sum, scale)"},
};

// Operators whose expansions depend on the node.
constexpr const char* kVariants[] = {"DynamicQuantizeLSTM", "FusedConv", "FusedGemm", "QAttention",
                                     "QLinearConcat"};

const onnx::AttributeProto* attribute_of(const onnx::NodeProto& node, const std::string& name) {
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.name() == name) return &attribute;
  }
  return nullptr;
}

std::vector<std::string> words(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> list;
  for (std::string word; in >> word;) list.push_back(word);
  return list;
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, at);) {
    part.erase(std::remove(part.begin(), part.end(), ' '), part.end());
    parts.push_back(part);
  }
  return parts;
}

bool is_number(const std::string& argument) {
  return !argument.empty() && argument[0] >= '0' && argument[0] <= '9';
}

class Body {
 public:
  Body(const onnx::NodeProto& call, const std::string& inputs, const std::string& outputs)
      : call_(call) {
    const std::vector<std::string> names = words(inputs);
    for (size_t i = 0; i < names.size(); ++i) {
      function.add_input(names[i]);
      const auto at = static_cast<int>(i);
      if (at >= call.input_size() || call.input(at).empty()) absent_.insert(names[i]);
    }
    for (const std::string& name : words(outputs)) function.add_output(name);
  }

  void add_line(const std::string& line) {
    const size_t equals = line.find('='), open = line.find('('), close = line.rfind(')');
    const std::string result = line.substr(0, equals);
    std::string type = line.substr(equals + 1, open - equals - 1), attributes;
    if (const size_t bracket = type.find('['); bracket != std::string::npos) {
      attributes = type.substr(bracket + 1, type.size() - bracket - 2);
      type = type.substr(0, bracket);
    }
    std::vector<std::string> arguments = split(line.substr(open + 1, close - open - 1), ',');
    if (absent_.count(arguments[0]) > 0) {
      absent_.insert(result);
      return;
    }
    if (type.back() == '?') {
      type.pop_back();
      const bool whole = std::none_of(arguments.begin(), arguments.end(),
                                      [&](const auto& name) { return absent_.count(name) > 0; });
      if (!whole) {
        type = "Identity";
        arguments.resize(1);
        attributes.clear();
      }
    }
    for (std::string& argument : arguments) {
      if (absent_.count(argument) > 0) argument.clear();
      if (is_number(argument)) argument = constant(argument);
    }
    onnx::NodeProto* node = function.add_node();
    node->set_op_type(type);
    node->set_name(result);
    for (const std::string& argument : arguments) node->add_input(argument);
    node->add_output(result);
    for (const std::string& attribute : split(attributes, ',')) add_attribute(attribute, node);
  }

  onnx::FunctionProto function;

 private:
  std::string constant(const std::string& number) {
    onnx::NodeProto* node = function.add_node();
    node->set_op_type("Constant");
    node->add_output(format("constant%d", function.node_size()));
    node->set_name(node->output(0));
    onnx::AttributeProto* value = node->add_attribute();
    value->set_name("value_float");
    value->set_f(std::strtof(number.c_str(), nullptr));
    return node->output(0);
  }

  void add_attribute(const std::string& text, onnx::NodeProto* node) {
    if (text == "*") {
      *node->mutable_attribute() = call_.attribute();
      return;
    }
    const size_t equals = text.find('=');
    const std::string value = text.substr(equals + 1);
    onnx::AttributeProto* attribute = node->add_attribute();
    attribute->set_name(text.substr(0, equals));
    if (value[0] == '!') {
      const onnx::AttributeProto* other = attribute_of(call_, value.substr(1));
      attribute->set_i(other && other->i() != 0 ? 0 : 1);
    } else if (is_number(value)) {
      attribute->set_i(std::strtoll(value.c_str(), nullptr, 10));
    } else {
      attribute->set_s(value);
    }
  }

  const onnx::NodeProto& call_;
  std::set<std::string> absent_;
};

onnx::FunctionProto expanded(const onnx::NodeProto& node, const std::string& inputs,
                             const std::string& outputs, const std::string& text) {
  Body body(node, inputs, outputs);
  for (const std::string& line : split(text, ';')) body.add_line(line);
  return body.function;
}

// Inputs: scale and zero point of the result, then three for each part.
onnx::FunctionProto expand_concat(const onnx::NodeProto& node) {
  std::string inputs = "ys yz", body, parts;
  for (int i = 0; i + 4 < node.input_size(); i += 3) {
    inputs += format(" x%d s%d z%d", i, i, i);
    body += format("f%d = DequantizeLinear(x%d, s%d, z%d);", i, i, i, i);
    parts += format("%sf%d", parts.empty() ? "" : ", ", i);
  }
  if (parts.empty()) parts = "ys";
  body += "f = Concat[*](" + parts + "); y = QuantizeLinear(f, ys, yz)";
  return expanded(node, inputs, "y", body);
}

// An LSTM, whose weights have their last two axes the other way round and one scale for each
// direction.
onnx::FunctionProto expand_lstm(const onnx::NodeProto& node) {
  onnx::FunctionProto function =
      expanded(node, "x w r b n h c p ws wz rs rz", "y yh yc",
               "fw = DequantizeLinear[axis=0](w, ws, wz); fr = DequantizeLinear[axis=0](r, rs, rz);"
               "tw = Transpose(fw); tr = Transpose(fr); y = LSTM[*](x, tw, tr, b, n, h, c, p)");
  for (onnx::NodeProto& inner : *function.mutable_node()) {
    if (inner.op_type() == "LSTM") {
      for (const char* name : {"yh", "yc"}) inner.add_output(name);
    }
    if (inner.op_type() != "Transpose") continue;
    onnx::AttributeProto* order = inner.add_attribute();
    order->set_name("perm");
    for (int64_t axis : {0, 2, 1}) order->add_ints(axis);
  }
  return function;
}

// The input's scale may be measured in each frame.
onnx::FunctionProto expand_attention(const onnx::NodeProto& node) {
  onnx::FunctionProto function =
      expanded(node, "x w b xs ws m xz wz", "y",
               "dx = Sub?(x, xz); fx = Mul(dx, xs); fw = DequantizeLinear[axis=1](w, ws, wz);"
               "y = Attention[*](fx, fw, b, m)");
  function.mutable_node(function.node_size() - 1)->set_domain(kMicrosoft);
  return function;
}

void set_number(const char* name, float value, onnx::NodeProto* node) {
  onnx::AttributeProto* attribute = node->add_attribute();
  attribute->set_name(name);
  attribute->set_f(value);
}

// Adds an activation with its numbers to `body`, whose result is m.
Result<onnx::FunctionProto> activated(const onnx::NodeProto& node, const char* inputs,
                                      const std::string& body, const std::string& activation,
                                      const std::vector<float>& numbers) {
  struct Activation {
    const char* name;
    std::vector<const char*> numbers;  // names of attributes; Clip's as before opset 11
  };
  static const std::vector<Activation> kKnown = {{"", {}},
                                                 {"Relu", {}},
                                                 {"Sigmoid", {}},
                                                 {"Tanh", {}},
                                                 {"LeakyRelu", {"alpha"}},
                                                 {"Clip", {"min", "max"}},
                                                 {"HardSigmoid", {"alpha", "beta"}}};
  for (const Activation& known : kKnown) {
    if (activation != known.name || numbers.size() < known.numbers.size()) continue;
    const std::string type = activation.empty() ? "Identity" : activation;
    onnx::FunctionProto function = expanded(node, inputs, "y", body + "; y = " + type + "(m)");
    for (size_t i = 0; i < known.numbers.size(); ++i) {
      set_number(known.numbers[i], numbers[i], function.mutable_node(function.node_size() - 1));
    }
    return function;
  }
  return unsupported("activation '" + activation +
                     format("' of %zu numbers is not supported", numbers.size()));
}

Result<onnx::FunctionProto> expand_conv(const onnx::NodeProto& node) {
  const onnx::AttributeProto* named = attribute_of(node, "activation");
  const onnx::AttributeProto* params = attribute_of(node, "activation_params");
  std::vector<float> numbers;
  if (params) numbers.assign(params->floats().begin(), params->floats().end());
  return activated(node, "x w b z", "f = Conv[*](x, w, b); m = Add?(f, z)", named ? named->s() : "",
                   numbers);
}

Result<onnx::FunctionProto> expand_gemm(const onnx::NodeProto& node) {
  const onnx::AttributeProto* named = attribute_of(node, "activation");
  std::vector<float> numbers;
  for (const char* name : {"activation_alpha", "activation_beta"}) {
    if (const onnx::AttributeProto* number = attribute_of(node, name)) {
      numbers.push_back(number->f());
    }
  }
  return activated(node, "a b c", "m = Gemm[*](a, b, c)", named ? named->s() : "", numbers);
}

const Expansion* find_expansion(const onnx::NodeProto& node) {
  const std::string domain = is_official(node.domain()) ? "" : node.domain();
  for (const Expansion& row : kExpansions) {
    if (domain == row.domain && node.op_type() == row.type) return &row;
  }
  return nullptr;
}

bool is_variant(const onnx::NodeProto& node) {
  return node.domain() == kMicrosoft &&
         std::any_of(std::begin(kVariants), std::end(kVariants),
                     [&](const char* type) { return node.op_type() == type; });
}

}  // namespace

bool has_onnx_expansion(const onnx::NodeProto& node) {
  return find_expansion(node) || is_variant(node);
}

Result<std::optional<onnx::FunctionProto>> onnx_expansion(const onnx::NodeProto& node) {
  using Expanded = std::optional<onnx::FunctionProto>;
  if (!has_onnx_expansion(node)) return Expanded();
  const onnx::AttributeProto* last = attribute_of(node, "channels_last");
  if (last && last->i() != 0) {
    return unsupported(
        "channels_last is not supported: export the model without ONNX Runtime's optimisation of "
        "layouts");
  }
  if (const Expansion* row = find_expansion(node)) {
    return Expanded(expanded(node, row->inputs, row->outputs, row->body));
  }
  if (node.op_type() == "QLinearConcat") return Expanded(expand_concat(node));
  if (node.op_type() == "DynamicQuantizeLSTM") return Expanded(expand_lstm(node));
  if (node.op_type() == "QAttention") {
    constexpr int kPast = 8;
    if (node.input_size() > kPast && !node.input(kPast).empty()) {
      return unsupported("attention to tokens before the sequence ('past') is not supported");
    }
    return Expanded(expand_attention(node));
  }
  DVNN_ASSIGN(onnx::FunctionProto function,
              node.op_type() == "FusedGemm" ? expand_gemm(node) : expand_conv(node));
  return Expanded(std::move(function));
}

std::vector<std::string> onnx_expanded_operators() {
  std::vector<std::string> names;
  for (const Expansion& row : kExpansions) {
    if (row.domain[0] == '\0') names.emplace_back(row.type);
  }
  return names;
}

}  // namespace dvnn::import
