// SPDX-License-Identifier: Apache-2.0
#include "import/onnx/whole_graph.h"

#include <algorithm>
#include <unordered_map>

#include "base/nth.h"

namespace dvnn::import {
namespace {

bool has_branches(const onnx::NodeProto& node) {
  return std::any_of(node.attribute().begin(), node.attribute().end(),
                     [](const onnx::AttributeProto& attribute) { return attribute.has_g(); });
}

using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

// Walks from each node, in the file's order, to those that it reads, without recursion: a hostile
// file may have a chain of all its nodes.
class Sorter {
 public:
  explicit Sorter(const Nodes& nodes)
      : nodes_(nodes), states_(static_cast<size_t>(nodes.size()), State::kNew) {
    for (int i = 0; i < nodes.size(); ++i) {
      for (const std::string& name : nodes[i].output()) {
        if (!name.empty() && !makers_.emplace(name, i).second) made_twice_ = &name;
      }
    }
  }

  Status sort() {
    if (made_twice_) return malformed("two nodes make '" + *made_twice_ + "'");
    for (int i = 0; i < nodes_.size(); ++i) DVNN_TRY(visit(i));
    return {};
  }
  const std::vector<int>& order() const { return order_; }

 private:
  enum class State : uint8_t { kNew, kOpen, kDone };
  struct Visit {
    int node;
    std::vector<std::string> reads;
    size_t next = 0;  // among `reads`
  };

  void open(int node, std::vector<Visit>* way) {
    nth(states_, node) = State::kOpen;
    way->push_back({node, onnx_names_read(nodes_[node])});
  }

  Status visit(int start) {
    if (nth(states_, start) == State::kDone) return {};
    std::vector<Visit> way;
    open(start, &way);
    while (!way.empty()) {
      Visit& at = way.back();
      if (at.next == at.reads.size()) {
        nth(states_, at.node) = State::kDone;
        order_.push_back(at.node);
        way.pop_back();
        continue;
      }
      const std::string& name = at.reads[at.next++];
      const auto maker = makers_.find(name);
      if (maker == makers_.end() || nth(states_, maker->second) == State::kDone) continue;
      // The result of a branch may be called as that of its node.
      const bool own = maker->second == at.node && has_branches(nodes_[at.node]);
      if (own) continue;
      if (nth(states_, maker->second) == State::kOpen) {
        const onnx::NodeProto& node = nodes_[maker->second];
        return malformed("the nodes form a circle: '" + node.name() + "' (" + node.op_type() +
                         ") makes '" + name + "', which it needs itself");
      }
      open(maker->second, &way);
    }
    return {};
  }

  const Nodes& nodes_;
  std::vector<State> states_;
  std::unordered_map<std::string, int> makers_;
  const std::string* made_twice_ = nullptr;
  std::vector<int> order_;
};

Status sort_nodes(Nodes* nodes) {
  for (onnx::NodeProto& node : *nodes) {
    for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) DVNN_TRY(sort_nodes(attribute.mutable_g()->mutable_node()));
    }
  }
  Sorter sorter(*nodes);
  DVNN_TRY(sorter.sort());
  Nodes sorted;
  sorted.Reserve(nodes->size());
  for (int i : sorter.order()) sorted.Add()->Swap(nodes->Mutable(i));
  nodes->Swap(&sorted);
  return {};
}

}  // namespace

Status sort_onnx(onnx::ModelProto* model) {
  DVNN_TRY(sort_nodes(model->mutable_graph()->mutable_node()));
  for (onnx::FunctionProto& function : *model->mutable_functions()) {
    DVNN_TRY(sort_nodes(function.mutable_node()));
  }
  return {};
}

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
