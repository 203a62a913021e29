// SPDX-License-Identifier: Apache-2.0
#include "plan/passes/rewriter.h"

#include <algorithm>
#include <utility>

#include "base/budget.h"
#include "base/nth.h"

namespace dvnn::plan {

Rewriter::Rewriter(Graph* graph)
    : graph_(*graph),
      most_(limit_of(Budget::kGraphNodes)),
      count_(graph->nodes.size()),
      producers_(graph->values.size(), -1),
      readers_(graph->values.size(), 0),
      outputs_(graph->values.size(), false),
      seen_(graph->values.size(), 0) {
  for (int value : graph_.outputs) nth(outputs_, value) = true;
  for (size_t i = 0; i < count_; ++i) put(i);
}

// Visits the inputs of a node, each once.
template <typename Visit>
void Rewriter::for_each_input(const Node& node, Visit visit) {
  ++visit_;
  for (int value : node.inputs) {
    size_t& seen = nth(seen_, value);
    if (std::exchange(seen, visit_) != visit_) visit(value);
  }
}

void Rewriter::put(size_t index) {
  const Node& node = graph_.nodes[index];
  if (node.dead) return;
  if (node.output >= 0) nth(producers_, node.output) = static_cast<int>(index);
  for_each_input(node, [this](int value) { ++nth(readers_, value); });
}

void Rewriter::drop(size_t index) {
  const Node& node = graph_.nodes[index];
  if (node.dead) return;
  if (node.output >= 0) {
    int& producer = nth(producers_, node.output);
    if (producer == static_cast<int>(index)) producer = -1;
  }
  for_each_input(node, [this](int value) { --nth(readers_, value); });
}

int Rewriter::add_value(const std::string& name, const Shape& shape) {
  producers_.push_back(-1);
  readers_.push_back(0);
  outputs_.push_back(false);
  seen_.push_back(0);
  return graph_.add_value(name, shape);
}

void Rewriter::replace(size_t index, Node node) {
  drop(index);
  graph_.nodes[index] = std::move(node);
  put(index);
}

Node Rewriter::take(size_t index) {
  drop(index);
  Node taken = std::move(graph_.nodes[index]);
  graph_.nodes[index] = Node();
  graph_.nodes[index].dead = true;
  return taken;
}

size_t Rewriter::insert_before(size_t index, Node node) {
  graph_.nodes.push_back(std::move(node));
  anchors_.push_back(index);
  put(graph_.nodes.size() - 1);
  return graph_.nodes.size() - 1;
}

Status Rewriter::check_size() const {
  if (graph_.nodes.size() <= most_) return {};
  return check_budget(Budget::kGraphNodes, graph_.nodes.size(), "nodes of the planned graph");
}

void Rewriter::finish() {
  if (!anchors_.empty()) {
    // New nodes ordered by place, then by insertion; each before the node of its place.
    std::vector<size_t> added(anchors_.size());
    for (size_t i = 0; i < added.size(); ++i) added[i] = i;
    std::stable_sort(added.begin(), added.end(),
                     [this](size_t a, size_t b) { return anchors_[a] < anchors_[b]; });
    std::vector<Node> nodes;
    nodes.reserve(graph_.nodes.size());
    size_t next = 0;
    for (size_t i = 0; i < count_; ++i) {
      for (; next < added.size() && anchors_[added[next]] == i; ++next) {
        nodes.push_back(std::move(graph_.nodes[count_ + added[next]]));
      }
      nodes.push_back(std::move(graph_.nodes[i]));
    }
    graph_.nodes = std::move(nodes);
  }
  graph_.sweep();
  if (shapes_.empty()) return;
  for (Node& node : graph_.nodes) {
    auto* const layer = node.as<CpuLayer>();
    if (!layer) continue;
    for (int& value : layer->shape_inputs) {
      // A value's replacement may itself have been replaced later.
      int last = value;
      for (auto it = shapes_.find(last); it != shapes_.end(); it = shapes_.find(last)) {
        last = it->second;
      }
      for (int v = value; v != last;) v = std::exchange(shapes_[v], last);
      value = last;
    }
  }
}

}  // namespace dvnn::plan
