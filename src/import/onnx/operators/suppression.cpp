// SPDX-License-Identifier: Apache-2.0
#include "import/onnx/operators/suppression.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/nth.h"
#include "import/onnx/ends.h"

namespace dvnn::import {
namespace {

constexpr int kRoot = -1;     // the graph's input
constexpr int kUnknown = -2;  // depends on no input
constexpr int kMostToSearch = 20000;

bool is_suppression(const onnx::NodeProto& node) {
  static const std::set<std::string> kTypes = {"NonMaxSuppression", "EfficientNMS_TRT",
                                               "BatchedNMS_TRT", "BatchedNMSDynamic_TRT"};
  return kTypes.count(node.op_type()) > 0;
}

// Each node's immediate dominator: the last node on all ways from the input to it. Nodes come after
// those that they read.
class Dominators {
 public:
  explicit Dominators(const onnx::GraphProto& graph)
      : above_(static_cast<size_t>(graph.node_size()), kUnknown),
        depth_(static_cast<size_t>(graph.node_size()), 0) {
    std::set<std::string> known;
    for (const auto& tensor : graph.initializer()) known.insert(tensor.name());
    for (const auto& input : graph.input()) {
      if (known.count(input.name()) == 0) makers_[input.name()] = kRoot;
    }
    for (int i = 0; i < graph.node_size(); ++i) {
      const onnx::NodeProto& node = graph.node(i);
      // Shapes are known in advance, so they do not depend on the picture.
      if (node.op_type() == "Shape" || node.op_type() == "Size") continue;
      const int above = common_of(onnx_names_read(node));
      if (above == kUnknown) continue;
      nth(above_, i) = above;
      nth(depth_, i) = above == kRoot ? 1 : nth(depth_, above) + 1;
      for (const std::string& name : node.output()) makers_[name] = i;
    }
  }

  // Returns the node that makes the value of this name, if it depends on the picture; else kRoot or
  // kUnknown.
  int maker(const std::string& name) const {
    const auto it = makers_.find(name);
    return it == makers_.end() ? kUnknown : it->second;
  }
  int above(int node) const { return nth(above_, node); }

  // Returns the last node that dominates both.
  int common(int a, int b) const {
    while (a != b) {
      if (a == kRoot || b == kRoot) return kRoot;
      (nth(depth_, a) > nth(depth_, b) ? a : b) = above(nth(depth_, a) > nth(depth_, b) ? a : b);
    }
    return a;
  }

  int common_of(const std::vector<std::string>& names) const {
    int all = kUnknown;
    for (const std::string& name : names) {
      const int one = maker(name);
      if (one == kUnknown) continue;
      all = all == kUnknown ? one : common(all, one);
    }
    return all;
  }

 private:
  std::map<std::string, int> makers_;
  std::vector<int> above_, depth_;
};

}  // namespace

bool find_suppression_cut(const onnx::GraphProto& graph, const std::vector<std::string>& wanted,
                          SuppressionCut* cut) {
  if (graph.node_size() > kMostToSearch ||
      std::none_of(graph.node().begin(), graph.node().end(), is_suppression)) {
    return false;
  }
  std::set<std::string> lost;
  for (const onnx::NodeProto& node : graph.node()) {
    const std::vector<std::string> read = onnx_names_read(node);
    const bool is_lost = is_suppression(node) ||
                         std::any_of(read.begin(), read.end(),
                                     [&](const std::string& name) { return lost.count(name) > 0; });
    if (is_lost) lost.insert(node.output().begin(), node.output().end());
  }
  std::vector<std::string> tail, rest;
  for (const std::string& name : wanted) (lost.count(name) > 0 ? tail : rest).push_back(name);
  if (tail.empty()) return false;
  const Dominators dominators(graph);
  int at = dominators.common_of(tail);
  // A node of several results, like Split, is no place to cut at; nor is one behind suppression.
  while (at >= 0 && (graph.node(at).output_size() != 1 || lost.count(graph.node(at).output(0)))) {
    at = dominators.above(at);
  }
  if (at < 0) return false;
  cut->result = graph.node(at).output(0);
  cut->wanted = {cut->result};
  cut->wanted.insert(cut->wanted.end(), rest.begin(), rest.end());
  return true;
}

}  // namespace dvnn::import
