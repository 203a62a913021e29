// SPDX-License-Identifier: Apache-2.0
#include "import/onnx/weights.h"

#include "base/nth.h"

namespace dvnn::import {
namespace {

// Adds the names that branches and bodies of loops read.
void add_inner_names(const onnx::GraphProto& graph, std::set<std::string>* names) {
  for (const onnx::NodeProto& node : graph.node()) {
    names->insert(node.input().begin(), node.input().end());
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (attribute.has_g()) add_inner_names(attribute.g(), names);
    }
  }
  for (const auto& output : graph.output()) names->insert(output.name());
}

// Returns the names that may be read at any time.
std::set<std::string> kept_names(const onnx::GraphProto& proto) {
  std::set<std::string> kept;
  for (const auto& output : proto.output()) kept.insert(output.name());
  for (const onnx::NodeProto& node : proto.node()) {
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (attribute.has_g()) add_inner_names(attribute.g(), &kept);
    }
  }
  return kept;
}

// Whether the node's weights are in the graph once it is imported.
bool takes_weights(const onnx::NodeProto& node) {
  static const std::set<std::string> kTakers = {"Conv", "ConvTranspose", "Gemm", "MatMul"};
  return is_official(node.domain()) && kTakers.count(node.op_type()) > 0;
}

// Leaves the tensor its name alone.
void empty(onnx::TensorProto* tensor) {
  onnx::TensorProto bare;
  bare.set_name(tensor->name());
  tensor->Swap(&bare);
}

}  // namespace

OnnxWeights::OnnxWeights(onnx::GraphProto* proto, const std::vector<bool>& needed, bool once)
    : proto_(proto), once_(once), first_(needed.size()), last_(needed.size()) {
  constexpr int64_t kLarge = 1 << 14;
  for (int i = 0; i < proto->initializer_size(); ++i) {
    const onnx::TensorProto& tensor = proto->initializer(i);
    if (element_count(tensor) >= kLarge) places_[tensor.name()] = i;
  }
  const std::set<std::string> kept = kept_names(*proto);
  std::set<std::string> seen = kept;
  for (int i = proto->node_size() - 1; i >= 0; --i) {
    const onnx::NodeProto& node = proto->node(i);
    for (const std::string& name : node.input()) {
      if (places_.count(name) == 0 || !seen.insert(name).second) continue;
      if (takes_weights(node)) nth(last_, i).push_back(name);
    }
  }
  seen = kept;
  for (int i = 0; i < proto->node_size(); ++i) {
    if (!nth(needed, i)) continue;
    for (const std::string& name : proto->node(i).input()) {
      const auto place = places_.find(name);
      if (place == places_.end() || !seen.insert(name).second) continue;
      // What may be refused is read before any node.
      if (!is_surely_read(proto->initializer(place->second))) continue;
      nth(first_, i).push_back(name);
      late_.insert(name);
    }
  }
}

Status OnnxWeights::read_for(int node, OnnxImporter* importer) {
  for (const std::string& name : nth(first_, node)) {
    onnx::TensorProto* const tensor = proto_->mutable_initializer(places_.at(name));
    DVNN_ASSIGN(OnnxConstant constant, importer->read(*tensor));
    importer->set(name, std::move(constant));
    if (once_) empty(tensor);
  }
  return {};
}

void OnnxWeights::forget_after(int node, OnnxImporter* importer) const {
  for (const std::string& name : nth(last_, node)) importer->entries.erase(name);
}

}  // namespace dvnn::import
