// SPDX-License-Identifier: Apache-2.0
// Walks over the nodes of a model; the operators are in the files beside.
#include "import/onnx/import.h"
#include "import/onnx/operators.h"

#include <algorithm>
#include <set>

#include "base/format.h"
#include "base/json.h"
#include "base/nth.h"
#include "import/onnx/control/control.h"
#include "import/onnx/expansions/expansions.h"
#include "import/onnx/whole_graph.h"
#include "plan/reference/reference.h"

namespace dvnn::import {
namespace {

constexpr int64_t kLeastOpset = 1, kMostOpset = 26;
// Counts nodes of the model's own functions at each call.
constexpr size_t kMostNodes = 100000;
constexpr int kMostNested = 16;  // depth of functions that call functions

struct OnnxRow {
  const char* type;
  Status (*import)(const OnnxNode&);
  OnnxTest is_whole;
  OnnxTest is_scalar = scalar_of_scalars;
  OnnxTrait trait = OnnxTrait::kNone;
};

constexpr OnnxRow kOperators[] = {
#define DVNN_ROW(type, import, ...) {type, import, __VA_ARGS__},
    DVNN_ONNX_OPERATORS(DVNN_ROW)
#undef DVNN_ROW
};

const OnnxRow* find_operator(const onnx::NodeProto& node) {
  const std::string name =
      is_official(node.domain()) ? node.op_type() : node.domain() + "." + node.op_type();
  for (const OnnxRow& entry : kOperators) {
    if (name == entry.type) return &entry;
  }
  return nullptr;
}

// Imports an operator that the user declared: its attributes are the parameters.
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

Result<int64_t> known_opset(int64_t version) {
  if (version >= kLeastOpset && version <= kMostOpset) return version;
  return unsupported(format("opset %lld is not supported (%lld to %lld are)",
                            static_cast<long long>(version), static_cast<long long>(kLeastOpset),
                            static_cast<long long>(kMostOpset)));
}

// Returns the opset of ONNX's own operators. Versions of extensions do not matter, because their
// operators are refused.
Result<int64_t> opset_of(const onnx::ModelProto& model) {
  for (const auto& opset : model.opset_import()) {
    if (is_official(opset.domain())) return known_opset(opset.version());
  }
  const bool has_others = model.opset_import_size() > 0;
  if (!has_others) return malformed("says no opset");
  return unsupported("has operators of '" + model.opset_import(0).domain() +
                     "' and none of ONNX's own: it is no neural network");
}

// Computes the outputs of a node whose inputs are all constants, by running it as a graph of its
// own.
Status fold_by_running(const OnnxNode& node, const OnnxRow& row) {
  OnnxImporter scratch(node.importer().options);
  scratch.opset = node.opset();
  scratch.folder = node.importer().folder;
  scratch.batch = node.importer().batch;
  scratch.constants = true;
  for (int i = 0; i < node.inputs(); ++i) {
    if (!node.has(i)) continue;
    auto& entry = scratch.entries[node.input_name(i)] = node.importer().entries[node.input_name(i)];
    entry.value = -1;  // that of the other graph, if something computed reads the constant there
  }
  GraphBuilder& b = scratch.builder;
  b.graph.input = b.graph.add_value("none", {1});
  const OnnxNode inner(node.proto(), &scratch);
  DVNN_TRY(row.import(inner));
  std::vector<std::string> made;
  for (int i = 0; i < node.outputs(); ++i) {
    const auto it = scratch.entries.find(node.output_name(i));
    if (node.output_name(i).empty() || it == scratch.entries.end()) continue;
    if (it->second.constant) {
      node.importer().entries[node.output_name(i)] = it->second;
      continue;
    }
    made.push_back(node.output_name(i));
    b.graph.outputs.push_back(it->second.value);
    b.graph.output_names.push_back(made.back());
  }
  if (made.empty()) return {};
  const Graph graph = b.graph;
  DVNN_ASSIGN(const auto reference, plan::Reference::create(graph));
  const float none = 0;
  DVNN_ASSIGN(const auto values, reference->run(&none));
  for (size_t i = 0; i < made.size(); ++i) {
    OnnxConstant constant;
    constant.dims = dims_of(graph.shape_of(graph.outputs[i]));
    if (constant.dims == std::vector<int64_t>{1} && row.is_scalar(node)) constant.dims.clear();
    constant.values.assign(values[i].begin(), values[i].end());
    constant.integral = row.is_whole(node);
    node.importer().set(made[i], std::move(constant));
  }
  return {};
}

// Records which results of a node are whole numbers. Constants store that themselves.
void mark_whole(const OnnxNode& node, const OnnxRow& row) {
  auto& entries = node.importer().entries;
  const bool whole = row.is_whole(node);
  for (int i = 0; i < node.outputs(); ++i) {
    const auto it = entries.find(node.output_name(i));
    if (it != entries.end() && !it->second.constant) it->second.integral = whole;
  }
  const bool has_places = row.trait == OnnxTrait::kThenPlaces && node.outputs() > 1;
  if (has_places) entries[node.output_name(1)].integral = true;
}

Status import_operator(const OnnxNode& node) {
  if (is_official(node.proto().domain())) {
    DVNN_ASSIGN(const bool folded, fold_onnx(node));
    if (folded) return {};
  }
  const OnnxRow* row = find_operator(node.proto());
  if (!row) {
    return unsupported(
        "the operator is not supported: docs/converter.md lists those that are, and --layer-types "
        "declares your own");
  }
  const bool known = node.inputs() > 0 && node.all_constant();
  if (known && row->trait != OnnxTrait::kItself) return fold_by_running(node, *row);
  DVNN_TRY(row->import(node));
  mark_whole(node, *row);
  // Only the first result: operators with several results never make numbers without dimensions.
  const auto made = node.importer().entries.find(node.outputs() > 0 ? node.output_name(0) : "");
  if (made != node.importer().entries.end() && !made->second.constant &&
      node.builder().shape_of(made->second.value) == Shape({1})) {
    made->second.scalar = row->is_scalar(node);
  }
  return {};
}

// --- functions of the model --------------------------------------------------------------------

using Functions = std::map<std::pair<std::string, std::string>, const onnx::FunctionProto*>;

class GraphImport {
 public:
  GraphImport(const onnx::ModelProto& model, const std::vector<std::string>& wanted,
              OnnxImporter* importer)
      : importer_(importer), plain_(plain_scalings(model.graph(), wanted)) {
    for (const onnx::FunctionProto& function : model.functions()) {
      functions_[{function.domain(), function.name()}] = &function;
    }
  }

  Status import_nodes(const google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes, int depth) {
    for (const onnx::NodeProto& proto : nodes) DVNN_TRY(import_node(proto, depth));
    return {};
  }

  Status import_node(const onnx::NodeProto& proto, int depth) {
    if (++imported_ > kMostNodes) return too_large(format("more than %zu operations", kMostNodes));
    const OnnxNode node(proto, importer_);
    rounded_ += depth == 0 && node.type() == "QuantizeLinear" && !node.all_constant() ? 1 : 0;
    const auto opset = static_cast<long long>(importer_->opset);
    Status status = import_known(node, depth);
    if (status.ok()) status = importer_->check_numbers(0);
    if (status.ok()) return status;
    // The only place that adds the node's name: every error of a node passes here.
    return status.error().within("node '" + node.name() + "' (" + node.type() +
                                 format(", opset %lld)", opset));
  }

  /// Adds notes for the user about how nodes were read.
  void tell() {
    if (importer_->unrounded > 0) {
      importer_->notes.push_back(
          format("%zu values are quantised in the model, and not rounded here (--no-rounding)",
                 importer_->unrounded));
    } else if (rounded_ > 0) {
      importer_->notes.push_back(
          format("%zu values are quantised: the CPU rounds them as the model says; --no-rounding "
                 "leaves that out",
                 rounded_));
    }
    if (plain_.products.empty()) return;
    importer_->notes.push_back(
        format("%zu convolutions and products are quantised dynamically: they are read in "
               "floating point, with the numbers that their weights of 8 bits stand for",
               plain_.products.size()));
  }

  /// Returns whether there is an importer for the node, which may yet refuse its attributes.
  bool knows(const onnx::NodeProto& proto) const {
    if (importer_->options.custom_layers.count(proto.op_type()) > 0 || function_of(proto)) {
      return true;
    }
    if (has_onnx_expansion(proto) || find_operator(proto)) return true;
    if (!is_official(proto.domain())) return false;
    return find_control_operator(proto.op_type()) || folds_onnx(proto.op_type());
  }

 private:
  const onnx::FunctionProto* function_of(const onnx::NodeProto& proto) const {
    const auto it = functions_.find({proto.domain(), proto.op_type()});
    return it != functions_.end() ? it->second : nullptr;
  }

  Status import_known(const OnnxNode& node, int depth) {
    const onnx::NodeProto& proto = node.proto();
    if (importer_->options.custom_layers.count(node.type())) return import_declared(node);
    if (const onnx::FunctionProto* function = function_of(proto)) {
      return call(*function, proto, depth);
    }
    if (proto.output_size() > 0 && plain_.scalings.count(proto.output(0)) > 0) {
      return read_plain_scaling(node);
    }
    const bool plain =
        depth == 0 && proto.output_size() > 0 && plain_.products.count(proto.output(0)) > 0;
    const onnx::NodeProto product = plain ? without_zeros(proto) : onnx::NodeProto();
    const onnx::NodeProto& own = plain ? product : proto;
    DVNN_ASSIGN(const auto expansion, onnx_expansion(own));
    if (expansion) return call(*expansion, own, depth);
    if (!is_official(proto.domain()) && !find_operator(proto)) {
      return unsupported("operators of '" + proto.domain() + "' are not supported");
    }
    if (node.outputs() == 0) return malformed("has no output");
    if (const ControlOperator* control = find_control_operator(node.type())) {
      if (depth >= kMostNested) return too_large(format("%d graphs within each other", depth));
      const auto inner = [&](const onnx::NodeProto& made) { return import_node(made, depth + 1); };
      return control->import(node, inner);
    }
    return import_operator(node);
  }

  // Reads the numbers without quantising them: the scale is 1, and the zero point 0.
  Status read_plain_scaling(const OnnxNode& node) {
    DVNN_TRY(node.done(node.value(0)));
    for (int i : {1, 2}) {
      OnnxConstant number;
      number.values = {i == 1 ? 1.0 : 0.0};
      importer_->set(node.output_name(i), std::move(number));
    }
    return {};
  }

  // Returns the product without the zero points of operands that are not quantised.
  onnx::NodeProto without_zeros(const onnx::NodeProto& proto) const {
    onnx::NodeProto plain = proto;
    for (int i = 0; i < 2 && i + 2 < plain.input_size(); ++i) {
      if (plain_.scalings.count(plain.input(i)) > 0) plain.set_input(i + 2, "");
    }
    return plain;
  }

  // Imports the function's nodes in place of the call. Its inputs and outputs get the call's names.
  Status call(const onnx::FunctionProto& function, const onnx::NodeProto& proto, int depth) {
    if (depth >= kMostNested) return too_large(format("functions call each other %d deep", depth));
    const std::string prefix = format("%s/%zu/", proto.name().c_str(), imported_);
    std::map<std::string, std::string> names;
    for (int i = 0; i < function.input_size(); ++i) {
      names[function.input(i)] = i < proto.input_size() ? proto.input(i) : "";
    }
    for (int i = 0; i < function.output_size() && i < proto.output_size(); ++i) {
      if (!proto.output(i).empty()) names[function.output(i)] = proto.output(i);
    }
    auto renamed = [&](const std::string& name) {
      const auto it = names.find(name);
      return name.empty() ? name : it != names.end() ? it->second : prefix + name;
    };
    onnx::FunctionProto body = function;
    for (onnx::NodeProto& node : *body.mutable_node()) {
      // The node that makes the result has the call's name, as the model has it.
      const bool makes_result =
          !proto.name().empty() && node.output_size() > 0 && names.count(node.output(0)) > 0;
      node.set_name(makes_result ? proto.name() : prefix + node.name());
      for (std::string& name : *node.mutable_input()) name = renamed(name);
      for (std::string& name : *node.mutable_output()) name = renamed(name);
      pass_attributes(proto, &node);
    }
    const int64_t opset = importer_->opset;
    for (const auto& import : function.opset_import()) {
      if (is_official(import.domain())) {
        DVNN_ASSIGN(importer_->opset, known_opset(import.version()));
      }
    }
    const Status status = import_nodes(body.node(), depth + 1);
    importer_->opset = opset;
    return status;
  }

  // Replaces attributes that refer to one of the call's by that one; absent ones are left out.
  static void pass_attributes(const onnx::NodeProto& call, onnx::NodeProto* node) {
    google::protobuf::RepeatedPtrField<onnx::AttributeProto> attributes;
    for (const onnx::AttributeProto& own : node->attribute()) {
      if (own.ref_attr_name().empty()) {
        *attributes.Add() = own;
        continue;
      }
      for (const onnx::AttributeProto& given : call.attribute()) {
        if (given.name() != own.ref_attr_name()) continue;
        *attributes.Add() = given;
        attributes.rbegin()->set_name(own.name());
      }
    }
    node->mutable_attribute()->Swap(&attributes);
  }

  OnnxImporter* importer_;
  Functions functions_;
  PlainScalings plain_;
  size_t imported_ = 0;
  size_t rounded_ = 0;  // number of quantised values
};

// `once`: the graph is imported once, and need not keep its weights.
Status import_graph(onnx::GraphProto* proto, const std::vector<std::string>& wanted, bool once,
                    GraphImport* nodes, OnnxImporter* importer) {
  std::vector<std::string> ends = wanted;
  for (const OnnxState& state : importer->states) ends.push_back(state.output);
  const OnnxNeeds needs = needs_of(*proto, ends);
  OnnxWeights weights(proto, needs.nodes, once);
  DVNN_TRY(importer->read_initializers(*proto, weights.late()));
  DVNN_TRY(import_onnx_inputs(*proto, needs, importer));
  for (int i = 0; i < proto->node_size(); ++i) {
    if (!nth(needs.nodes, i)) continue;
    DVNN_TRY(weights.read_for(i, importer));
    const Status status = nodes->import_node(proto->node(i), 0);
    if (status.ok()) {
      weights.forget_after(i, importer);
      continue;
    }
    const auto knows = [&](const onnx::NodeProto& node) { return nodes->knows(node); };
    return with_hint(status.error(), {*proto, needs, wanted, i, knows}, *importer);
  }
  return {};
}

}  // namespace

Status import_onnx_node(const onnx::NodeProto& proto, OnnxImporter* importer) {
  return import_operator(OnnxNode(proto, importer));
}

std::vector<std::string> onnx_operators() {
  std::vector<std::string> names;
  for (const OnnxRow& row : kOperators) names.emplace_back(row.type);
  for (const std::string& type : onnx_expanded_operators()) names.push_back(type);
  return names;
}

// Imports the model with states of the dimensions that are known so far. Without any, it loses its
// weights.
static Result<Graph> import_once(onnx::ModelProto* from, const std::string& folder,
                                 const ImportOptions& options, const std::vector<OnnxState>& states,
                                 std::vector<std::string>* notes) {
  const onnx::ModelProto& model = *from;
  OnnxImporter importer(options);
  importer.folder = folder;
  importer.states = states;
  DVNN_ASSIGN(importer.opset, opset_of(model));
  const onnx::GraphProto& proto = model.graph();
  DVNN_ASSIGN(auto wanted, wanted_outputs(proto, options));
  if (options.outputs.empty()) leave_out_states(states, &wanted);
  SuppressionCut cut;
  if (options.outputs.empty() && find_suppression_cut(proto, wanted, &cut)) {
    importer.notes.push_back(
        "the model ends with suppression of boxes, which is the decoder's "
        "work: it is cut at '" +
        cut.result + "'");
    wanted = cut.wanted;
  }
  GraphImport nodes(model, wanted, &importer);
  DVNN_TRY(import_graph(from->mutable_graph(), wanted, states.empty(), &nodes, &importer));
  if (options.unrounded && importer.unrounded == 0) {
    return invalid_argument(
        "no value between its layers is quantised with known scales: leave --no-rounding out");
  }
  nodes.tell();
  DVNN_TRY(set_onnx_outputs(wanted, &importer));
  importer.builder.graph.name = model.graph().name();
  *notes = std::move(importer.notes);
  return std::move(importer.builder.graph);
}

Result<Graph> import_onnx(onnx::ModelProto model, const std::string& folder,
                          const ImportOptions& options, std::vector<std::string>* notes) {
  DVNN_TRY(sort_onnx(&model));
  DVNN_ASSIGN(std::vector<OnnxState> states, find_onnx_states(model.graph(), options));
  std::vector<std::string> own;
  DVNN_ASSIGN(Graph graph, import_once(&model, folder, options, states, &own));
  // A state's open dimensions are those of its next value, which may depend on them in turn.
  constexpr int kMostRounds = 4;
  for (int round = 1;; ++round) {
    DVNN_ASSIGN(const bool settled, settle_onnx_states(graph, &states));
    if (settled) break;
    if (round == kMostRounds) {
      return unsupported("the dimensions of its states grow with each frame: they are no states");
    }
    DVNN_ASSIGN(graph, import_once(&model, folder, options, states, &own));
  }
  if (!states.empty()) own.push_back(tell_of_states(states));
  if (notes) notes->insert(notes->end(), own.begin(), own.end());
  return graph;
}

}  // namespace dvnn::import
