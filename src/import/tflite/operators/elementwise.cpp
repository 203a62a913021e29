// SPDX-License-Identifier: Apache-2.0
// Functions of one element, and of several at the same place.
#include <algorithm>

#include "import/tflite/operators.h"

namespace dvnn::import {
namespace {

struct Same {
  const char *type, *onnx;
};
constexpr Same kSame[] = {
    {"ABS", "Abs"},
    {"ADD_N", "Sum"},
    {"CEIL", "Ceil"},
    {"COS", "Cos"},
    {"ELU", "Elu"},
    {"EQUAL", "Equal"},
    {"EXP", "Exp"},
    {"FLOOR", "Floor"},
    {"FLOOR_MOD", "Mod"},
    {"GREATER", "Greater"},
    {"GREATER_EQUAL", "GreaterOrEqual"},
    {"HARD_SWISH", "HardSwish"},
    {"LESS", "Less"},
    {"LESS_EQUAL", "LessOrEqual"},
    {"LOG", "Log"},
    {"LOGICAL_AND", "And"},
    {"LOGICAL_NOT", "Not"},
    {"LOGICAL_OR", "Or"},
    {"LOGISTIC", "Sigmoid"},
    {"MAXIMUM", "Max"},
    {"MINIMUM", "Min"},
    {"NEG", "Neg"},
    {"POW", "Pow"},
    {"RELU", "Relu"},
    {"ROUND", "Round"},
    {"SIGN", "Sign"},
    {"SIN", "Sin"},
    {"SQRT", "Sqrt"},
    {"TANH", "Tanh"},
};

// The inputs of a function of single elements, all in the same order.
struct Operands {
  std::vector<std::string> entries;
  bool picture = false;
  std::shared_ptr<const TfliteParts> parts;
};

// Returns the parts of the inputs: all of the same picture, or the same for every pixel.
Result<std::shared_ptr<const TfliteParts>> parts_of(const TfliteNode& node) {
  std::shared_ptr<const TfliteParts> parts;
  for (int i = 0; i < node.inputs(); ++i) {
    if (node.has(i) && node.parts(i)) parts = node.parts(i);
  }
  for (int i = 0; parts && i < node.inputs(); ++i) {
    if (!node.has(i)) continue;
    const auto& own = node.parts(i);
    if (own && own->block_y == parts->block_y && own->block_x == parts->block_x) continue;
    const std::vector<int64_t> dims = own ? std::vector<int64_t>() : node.weight_dims(i);
    const bool even = !own && node.is_constant(i) &&
                      std::all_of(dims.begin(), dims.empty() ? dims.end() : dims.end() - 1,
                                  [](int64_t d) { return d == 1; });
    if (!even) {
      return unsupported(
          "combines the parts that SPACE_TO_BATCH_ND makes with something else than their like");
    }
  }
  return parts;
}

// Gives an operand that repeats over a picture its four dimensions.
Result<std::string> over_picture(const TfliteNode& node, int i) {
  if (node.is_picture(i)) return node.picture_or_parts(i);
  DVNN_ASSIGN(std::vector<int64_t> dims, node.dims(i));
  DVNN_ASSIGN(std::string entry, node.plain(i));
  if (element_count(dims) == 1 && dims.size() <= 1) return entry;
  if (dims.size() == 4) return node.picture(i);
  dims.insert(dims.begin(), 4 - dims.size(), 1);
  DVNN_ASSIGN(entry, node.run("Reshape", {entry, node.list(dims)}));
  return node.run("Transpose", {entry}, {{"perm", std::vector<int64_t>{0, 3, 1, 2}}});
}

Result<Operands> operands_of(const TfliteNode& node) {
  Operands operands;
  DVNN_ASSIGN(operands.parts, parts_of(node));
  size_t most = 0;
  for (int i = 0; i < node.inputs(); ++i) {
    operands.picture |= node.is_picture(i) && !node.is_constant(i);
    DVNN_ASSIGN(const auto dims, node.dims(i));
    most = std::max(most, dims.size());
  }
  operands.picture &= most == 4;
  for (int i = 0; i < node.inputs(); ++i) {
    DVNN_ASSIGN(const std::string entry, operands.picture ? over_picture(node, i) : node.plain(i));
    operands.entries.push_back(entry);
  }
  return operands;
}

Status done(const TfliteNode& node, const Operands& operands, const Result<std::string>& made) {
  return operands.picture ? node.done_parts(made, operands.parts) : node.done(made);
}

Status one_operator(const TfliteNode& node, const char* type,
                    const OnnxAttributes& attributes = {}) {
  DVNN_ASSIGN(const Operands operands, operands_of(node));
  return done(node, operands, node.run(type, operands.entries, attributes));
}

tfl::Activation activation_of(const tfl::Operator& op) {
  for (const tfl::ArithmeticOptions* o :
       {op.options_as_Add(), op.options_as_Sub(), op.options_as_Mul(), op.options_as_Div()}) {
    if (o) return o->activation();
  }
  return tfl::Activation::NONE;
}

// TensorProto.DataType
int64_t onnx_type(tfl::TensorType type) {
  switch (type) {
    case tfl::TensorType::INT32:
      return 6;
    case tfl::TensorType::INT64:
      return 7;
    case tfl::TensorType::UINT8:
      return 2;
    case tfl::TensorType::INT8:
      return 3;
    case tfl::TensorType::INT16:
      return 5;
    case tfl::TensorType::BOOL:
      return 9;
    case tfl::TensorType::UINT16:
      return 4;
    case tfl::TensorType::UINT32:
      return 12;
    case tfl::TensorType::UINT64:
      return 13;
    default:
      return kOnnxFloat;
  }
}

}  // namespace

Status import_tflite_elementwise(const TfliteNode& node) {
  for (const Same& same : kSame) {
    if (node.type() == same.type) return one_operator(node, same.onnx);
  }
  return Error{ErrorCode::kInternal, "is in no table"};
}

Status import_tflite_arithmetic(const TfliteNode& node) {
  const std::string& type = node.type();
  const char* onnx = type == "ADD" ? "Add" : type == "SUB" ? "Sub" : type == "MUL" ? "Mul" : "Div";
  DVNN_ASSIGN(const Operands operands, operands_of(node));
  return done(node, operands,
              node.activated(node.run(onnx, operands.entries), activation_of(node.op())));
}

Status import_tflite_clip(const TfliteNode& node) {
  DVNN_ASSIGN(Operands operands, operands_of(node));
  operands.entries.push_back(node.number(node.type() == "RELU_N1_TO_1" ? -1 : 0));
  operands.entries.push_back(node.number(node.type() == "RELU6" ? 6 : 1));
  return done(node, operands, node.run("Clip", operands.entries));
}

Status import_tflite_leaky_relu(const TfliteNode& node) {
  const auto* o = node.op().options_as_LeakyReluOptions();
  return one_operator(node, "LeakyRelu", {{"alpha", o ? o->alpha() : 0.0f}});
}

Status import_tflite_prelu(const TfliteNode& node) {
  return one_operator(node, "PRelu");
}

Status import_tflite_gelu(const TfliteNode& node) {
  const auto* o = node.op().options_as_GeluOptions();
  const char* how = o && o->approximate() ? "tanh" : "none";
  return one_operator(node, "Gelu", {{"approximate", std::string(how)}});
}

Status import_tflite_square(const TfliteNode& node) {
  DVNN_ASSIGN(const Operands operands, operands_of(node));
  return done(node, operands, node.run("Mul", {operands.entries[0], operands.entries[0]}));
}

Status import_tflite_squared_difference(const TfliteNode& node) {
  DVNN_ASSIGN(const Operands operands, operands_of(node));
  DVNN_ASSIGN(const std::string difference, node.run("Sub", operands.entries));
  return done(node, operands, node.run("Mul", {difference, difference}));
}

Status import_tflite_rsqrt(const TfliteNode& node) {
  DVNN_ASSIGN(const Operands operands, operands_of(node));
  DVNN_ASSIGN(const std::string root, node.run("Sqrt", operands.entries));
  return done(node, operands, node.run("Reciprocal", {root}));
}

Status import_tflite_not_equal(const TfliteNode& node) {
  DVNN_ASSIGN(const Operands operands, operands_of(node));
  DVNN_ASSIGN(const std::string equal, node.run("Equal", operands.entries));
  return done(node, operands, node.run("Not", {equal}));
}

Status import_tflite_floor_div(const TfliteNode& node) {
  DVNN_ASSIGN(Operands operands, operands_of(node));
  for (std::string& entry : operands.entries) {
    DVNN_ASSIGN(entry, node.run("Cast", {entry}, {{"to", kOnnxFloat}}));
  }
  DVNN_ASSIGN(const std::string quotient, node.run("Div", operands.entries));
  DVNN_ASSIGN(const std::string whole, node.run("Floor", {quotient}));
  const int64_t type = onnx_type(node.output_tensor(0).type());
  return done(node, operands, node.run("Cast", {whole}, {{"to", type}}));
}

Status import_tflite_select(const TfliteNode& node) {
  DVNN_ASSIGN(const auto condition, node.dims(0));
  DVNN_ASSIGN(const auto chosen, node.dims(1));
  // The older operator chooses whole rows by a list.
  if (node.type() == "SELECT" && condition.size() == 1 && chosen.size() > 1 && condition[0] > 1) {
    return unsupported("chooses rows by a list, which is not supported");
  }
  return one_operator(node, "Where");
}

Status import_tflite_cast(const TfliteNode& node) {
  DVNN_ASSIGN(Operands operands, operands_of(node));
  std::string& in = operands.entries[0];
  // A quantised tensor is held as real numbers, so compute the stored number.
  DVNN_ASSIGN(const TfliteScaling scaling, tflite_scaling(node.input_tensor(0)));
  if (scaling.scale.size() > 1) return unsupported("reads a tensor with a scale for each channel");
  if (!scaling.scale.empty() && scaling.scale[0] != 0) {
    DVNN_ASSIGN(in, node.run("Mul", {in, node.number(1 / scaling.scale[0])}));
    DVNN_ASSIGN(in, node.run("Add", {in, node.number(scaling.zero[0])}));
  }
  const int64_t type = onnx_type(node.output_tensor(0).type());
  return done(node, operands, node.run("Cast", {in}, {{"to", type}}));
}

// Scale and sparseness are applied when numbers are read, so nothing is left to do.
Status import_tflite_same(const TfliteNode& node) {
  if (node.is_constant(0)) {
    node.done_as_input(0);
    return {};
  }
  return one_operator(node, "Identity");
}

Status import_tflite_zeros_like(const TfliteNode& node) {
  OnnxConstant zeros;
  DVNN_ASSIGN(zeros.dims, node.dims(0));
  zeros.integral = !is_tflite_real(node.output_tensor(0).type());
  const int64_t count = element_count(zeros.dims);
  if (count < 0) return too_large("has impossible dimensions");
  DVNN_TRY(node.importer().onnx.check_numbers(static_cast<uint64_t>(count)));
  zeros.values.assign(static_cast<size_t>(count), 0);
  return node.done(node.numbers(std::move(zeros)));
}

}  // namespace dvnn::import
