// SPDX-License-Identifier: Apache-2.0
// The walk over the nodes, its table, and how nodes are read; operators are in onnx_layers*.cpp.
#include "import/onnx/import.h"

#include "base/format.h"

namespace dvnn::import {
namespace {

constexpr int64_t kLeastOpset = 7, kMostOpset = 17;

struct Entry {
  const char* type;
  Status (*import)(const OnnxNode&);
};

constexpr Entry kOperators[] = {
    {"Abs", import_onnx_unary},
    {"Add", import_onnx_add},
    {"AveragePool", import_onnx_average_pool},
    {"BatchNormalization", import_onnx_batch_norm},
    {"Cast", import_onnx_identity},
    {"Ceil", import_onnx_unary},
    {"Clip", import_onnx_clip},
    {"Concat", import_onnx_concat},
    {"Constant", import_onnx_constant},
    {"Conv", import_onnx_conv},
    {"ConvTranspose", import_onnx_conv_transpose},
    {"Div", import_onnx_binary},
    {"Dropout", import_onnx_identity},
    {"Elu", import_onnx_activation},
    {"Exp", import_onnx_unary},
    {"Flatten", import_onnx_flatten},
    {"Floor", import_onnx_unary},
    {"Gather", import_onnx_gather},
    {"Gemm", import_onnx_gemm},
    {"GlobalAveragePool", import_onnx_global_pool},
    {"GlobalMaxPool", import_onnx_global_pool},
    {"HardSigmoid", import_onnx_unary},
    {"HardSwish", import_onnx_unary},
    {"Identity", import_onnx_identity},
    {"LeakyRelu", import_onnx_activation},
    {"Log", import_onnx_unary},
    {"MatMul", import_onnx_matmul},
    {"Max", import_onnx_binary},
    {"MaxPool", import_onnx_max_pool},
    {"Min", import_onnx_binary},
    {"Mul", import_onnx_binary},
    {"Neg", import_onnx_unary},
    {"PRelu", import_onnx_activation},
    {"Pad", import_onnx_pad},
    {"Pow", import_onnx_binary},
    {"Reciprocal", import_onnx_unary},
    {"ReduceMean", import_onnx_reduce_mean},
    {"Relu", import_onnx_activation},
    {"Reshape", import_onnx_reshape},
    {"Resize", import_onnx_resize},
    {"Shape", import_onnx_shape},
    {"Sigmoid", import_onnx_activation},
    {"Slice", import_onnx_slice},
    {"Softmax", import_onnx_softmax},
    {"Softplus", import_onnx_unary},
    {"Split", import_onnx_split},
    {"Sqrt", import_onnx_unary},
    {"Squeeze", import_onnx_squeeze},
    {"Sub", import_onnx_binary},
    {"Sum", import_onnx_sum},
    {"Tanh", import_onnx_activation},
    {"Transpose", import_onnx_transpose},
    {"Unsqueeze", import_onnx_squeeze},
    {"Upsample", import_onnx_resize},
};

// An operator that the user declared: its attributes are the parameters.
Status import_declared(const OnnxNode& node) {
  std::vector<int> inputs;
  for (int i = 0; i < node.inputs(); ++i) {
    DVNN_ASSIGN(const int value, node.value(i));
    inputs.push_back(value);
  }
  const CustomLayer& declared = node.importer().options.custom_layers.at(node.type());
  return node.done(node.builder().custom(node.name(), node.type(), declared, node.attributes(),
                                         std::move(inputs)));
}

Status import_node(const OnnxNode& node) {
  for (const Entry& entry : kOperators) {
    if (node.type() == entry.type) return entry.import(node);
  }
  std::string known;
  for (const Entry& entry : kOperators)
    known += (known.empty() ? "" : ", ") + std::string(entry.type);
  return Error{ErrorCode::kUnsupported, "the operator is not supported (supported: " + known + ")"};
}

// The model's own operators; an extension's version does not matter as its operators are refused.
Result<int64_t> opset_of(const onnx::ModelProto& model) {
  for (const auto& opset : model.opset_import()) {
    if (!opset.domain().empty() && opset.domain() != "ai.onnx") continue;
    if (opset.version() >= kLeastOpset && opset.version() <= kMostOpset) return opset.version();
    return Error{ErrorCode::kUnsupported,
                 format("opset %lld is not supported (%lld to %lld are)",
                        static_cast<long long>(opset.version()),
                        static_cast<long long>(kLeastOpset), static_cast<long long>(kMostOpset))};
  }
  return Error{ErrorCode::kMalformed, "says no opset"};
}

Status import_input(const onnx::ValueInfoProto& info, OnnxImporter* importer) {
  const ImportOptions& options = importer->options;
  std::vector<int64_t> dims;
  const auto& shape = info.type().tensor_type().shape();
  for (const auto& dim : shape.dim()) {
    dims.push_back(dim.has_dim_value() && dim.dim_value() > 0 ? dim.dim_value() : -1);
  }
  if (!dims.empty()) dims[0] = 1;  // one picture at a time
  if (dims.size() == 4 && options.width > 0) dims[2] = options.height, dims[3] = options.width;
  for (int64_t d : dims) {
    if (d > 0) continue;
    return Error{ErrorCode::kUnsupported,
                 "input '" + info.name() + "' has no fixed size: give one with --size WxH"};
  }
  DVNN_ASSIGN(const int value, importer->builder.input(info.name(), dims));
  importer->set(info.name(), value);
  return {};
}

Status import_graph(const onnx::GraphProto& proto, OnnxImporter* importer) {
  for (const onnx::TensorProto& tensor : proto.initializer()) {
    auto constant = read_tensor(tensor);
    if (!constant.ok()) return constant.error().within("initializer '" + tensor.name() + "'");
    importer->set(tensor.name(), std::move(constant.value()));
  }
  for (const onnx::ValueInfoProto& info : proto.input()) {
    // Before IR version 4 initializers are listed as inputs, too.
    if (importer->entries.count(info.name()) == 0) {
      DVNN_TRY(import_input(info, importer));
    }
  }
  if (importer->builder.graph.input < 0) return Error{ErrorCode::kMalformed, "has no input"};
  for (const onnx::NodeProto& proto_node : proto.node()) {
    const OnnxNode node(proto_node, importer);
    const std::string where = "node '" + node.name() + "' (" + node.type() +
                              format(", opset %lld)", static_cast<long long>(importer->opset));
    if (importer->options.custom_layers.count(node.type())) {
      if (Status s = import_declared(node); !s.ok()) return s.error().within(where);
      continue;
    }
    if (!proto_node.domain().empty() && proto_node.domain() != "ai.onnx") {
      return Error{ErrorCode::kUnsupported,
                   where + ": operators of '" + proto_node.domain() + "' are not supported"};
    }
    if (node.outputs() == 0) return Error{ErrorCode::kMalformed, where + ": has no output"};
    auto folded = fold_onnx(node);
    if (!folded.ok()) return folded.error().within(where);
    if (folded.value()) continue;
    if (Status s = import_node(node); !s.ok()) return s.error().within(where);
  }
  return {};
}

Status set_outputs(const onnx::GraphProto& proto, OnnxImporter* importer) {
  Graph& graph = importer->builder.graph;
  for (const onnx::ValueInfoProto& info : proto.output()) {
    const auto it = importer->entries.find(info.name());
    if (it == importer->entries.end() || it->second.value < 0) {
      return Error{ErrorCode::kMalformed,
                   "output '" + info.name() + "' is not computed from the input"};
    }
    graph.outputs.push_back(it->second.value);
    graph.output_names.push_back(info.name());
  }
  if (graph.outputs.empty()) return Error{ErrorCode::kMalformed, "has no outputs"};
  return {};
}

}  // namespace

// --- OnnxNode ----------------------------------------------------------------------------------

const std::string& OnnxNode::name() const {
  if (!proto_.name().empty() || outputs() == 0) return proto_.name();
  return proto_.output(0);
}

bool OnnxNode::is_constant(int i) const {
  if (!has(i)) return false;
  const auto it = importer_->entries.find(proto_.input(i));
  return it != importer_->entries.end() && it->second.constant;
}

bool OnnxNode::all_constant() const {
  for (int i = 0; i < inputs(); ++i) {
    if (has(i) && !is_constant(i)) return false;
  }
  return true;
}

Result<int> OnnxNode::value(int i) const {
  if (!has(i)) return Error{ErrorCode::kMalformed, format("input %d is missing", i)};
  const auto it = importer_->entries.find(proto_.input(i));
  if (it == importer_->entries.end()) {
    return Error{ErrorCode::kMalformed,
                 "input '" + proto_.input(i) + "' is made by no node before it"};
  }
  if (it->second.value >= 0) return it->second.value;
  const OnnxConstant& constant = *it->second.constant;
  const std::vector<int64_t> scalar = {1};
  return builder().constant(proto_.input(i), constant.dims.empty() ? scalar : constant.dims,
                            constant.floats());
}

Result<std::shared_ptr<const OnnxConstant>> OnnxNode::constant(int i) const {
  if (is_constant(i)) return importer_->entries.at(proto_.input(i)).constant;
  if (!has(i)) return Error{ErrorCode::kMalformed, format("input %d is missing", i)};
  return Error{ErrorCode::kUnsupported, "input '" + proto_.input(i) +
                                            "' is computed from the picture, where numbers that "
                                            "are known beforehand are needed"};
}

Result<std::vector<int64_t>> OnnxNode::ints_at(int input, const char* attribute_name) const {
  if (!has(input)) return integers(attribute_name);
  DVNN_ASSIGN(const auto numbers, constant(input));
  return numbers->ints();
}

const onnx::AttributeProto* OnnxNode::attribute(const char* name) const {
  for (const onnx::AttributeProto& a : proto_.attribute()) {
    if (a.name() == name) return &a;
  }
  return nullptr;
}

int64_t OnnxNode::integer(const char* name, int64_t fallback) const {
  const onnx::AttributeProto* a = attribute(name);
  return a && a->has_i() ? a->i() : fallback;
}

float OnnxNode::number(const char* name, float fallback) const {
  const onnx::AttributeProto* a = attribute(name);
  return a && a->has_f() ? a->f() : fallback;
}

std::string OnnxNode::text(const char* name, const char* fallback) const {
  const onnx::AttributeProto* a = attribute(name);
  return a && a->has_s() ? a->s() : fallback;
}

std::vector<int64_t> OnnxNode::integers(const char* name) const {
  const onnx::AttributeProto* a = attribute(name);
  if (!a) return {};
  return {a->ints().begin(), a->ints().end()};
}

std::vector<float> OnnxNode::numbers(const char* name) const {
  const onnx::AttributeProto* a = attribute(name);
  if (!a) return {};
  return {a->floats().begin(), a->floats().end()};
}

const onnx::TensorProto* OnnxNode::tensor(const char* name) const {
  const onnx::AttributeProto* a = attribute(name);
  return a && a->has_t() ? &a->t() : nullptr;
}

nlohmann::json OnnxNode::attributes() const {
  nlohmann::json all = nlohmann::json::object();
  for (const onnx::AttributeProto& a : proto_.attribute()) {
    nlohmann::json& value = all[printable(a.name())];
    if (a.has_f()) value = a.f();
    if (a.has_i()) value = a.i();
    if (a.has_s()) value = printable(a.s());
    if (a.floats_size() > 0) value = std::vector<float>(a.floats().begin(), a.floats().end());
    if (a.ints_size() > 0) value = std::vector<int64_t>(a.ints().begin(), a.ints().end());
  }
  return all;
}

Status OnnxNode::done(const Result<int>& value) const {
  return done_at(0, value);
}

Status OnnxNode::done_at(int output, const Result<int>& value) const {
  if (!value.ok()) return value.error();
  if (output < outputs()) importer_->set(proto_.output(output), value.value());
  return {};
}

Status OnnxNode::done(OnnxConstant constant) const {
  importer_->set(proto_.output(0), std::move(constant));
  return {};
}

Result<int64_t> onnx_axis(int64_t axis, size_t rank) {
  const auto count = static_cast<int64_t>(rank);
  const int64_t from_start = axis < 0 ? axis + count : axis;
  if (from_start >= 0 && from_start < count) return from_start;
  return Error{ErrorCode::kMalformed, format("axis %lld does not exist among %zu dimensions",
                                             static_cast<long long>(axis), rank)};
}

Result<Graph> import_onnx(const onnx::ModelProto& model, const ImportOptions& options) {
  OnnxImporter importer(options);
  DVNN_ASSIGN(importer.opset, opset_of(model));
  DVNN_TRY(import_graph(model.graph(), &importer));
  DVNN_TRY(set_outputs(model.graph(), &importer));
  importer.builder.graph.name = model.graph().name();
  return std::move(importer.builder.graph);
}

}  // namespace dvnn::import
