// SPDX-License-Identifier: Apache-2.0
#include "import/onnx/whole_graph.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/format.h"
#include "base/nth.h"
#include "plan/replan.h"

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

namespace {

// Returns whether a node reads images whose rows or columns differ, or cuts one into blocks.
bool meets_other_sizes(const onnx::NodeProto& node, const OnnxImporter& importer) {
  if (node.op_type() == "SpaceToDepth") return true;
  std::set<std::pair<int, int>> sizes;
  for (const std::string& name : node.input()) {
    const auto it = importer.entries.find(name);
    if (it == importer.entries.end() || it->second.value < 0) continue;
    const Shape& shape = importer.builder.shape_of(it->second.value);
    if (shape.rank == 4) sizes.insert({shape.h(), shape.w()});
  }
  return sizes.size() > 1;
}

const onnx::ValueInfoProto* find_input(const onnx::GraphProto& proto, const std::string& name) {
  for (const onnx::ValueInfoProto& info : proto.input()) {
    if (info.name() == name) return &info;
  }
  return nullptr;
}

std::string picture_size(int width, int height) {
  return format("%dx%d", width, height);
}

// Finds the number of elements of a node's input, and the one that it was exported for: by
// Reshape's numbers, or by two operands of which one is known.
bool exported_elements(const onnx::NodeProto& node, const OnnxImporter& importer, double* have,
                       double* want) {
  if (node.input_size() != 2) return false;
  const OnnxEntry* entries[2] = {};
  for (int i = 0; i < 2; ++i) {
    const auto it = importer.entries.find(node.input(i));
    if (it == importer.entries.end()) return false;
    entries[i] = &it->second;
  }
  if (!entries[0]->constant == !entries[1]->constant) return false;
  const OnnxEntry& computed = *entries[entries[0]->constant ? 1 : 0];
  const OnnxConstant& known = *entries[entries[0]->constant ? 0 : 1]->constant;
  if (computed.value < 0) return false;
  const Shape shape = importer.builder.shape_of(computed.value);
  if (node.op_type() == "Reshape") {
    *have = static_cast<double>(shape.elements());
    *want = 1;
    for (double d : known.values) *want *= d == 0 ? 1 : d;
    return true;
  }
  // Find the dimension in which they differ.
  const size_t rank = shape.axes();
  for (size_t i = 1; i <= std::min(rank, known.dims.size()); ++i) {
    const int64_t own = shape[static_cast<int>(rank - i)],
                  other = known.dims[known.dims.size() - i];
    if (own == other || own == 1 || other == 1) continue;
    *have = static_cast<double>(own);
    *want = static_cast<double>(other);
    return rank < 4;  // rows and columns are joined
  }
  return false;
}

// Returns the size that the model was exported for, if numbers in it tell how many pixels it has.
std::string exported_size(const onnx::NodeProto& node, const Shape& input,
                          const OnnxImporter& importer) {
  double have = 0, want = 0;
  if (!exported_elements(node, importer, &have, &want) || want <= 0) return "";
  const double scale = std::sqrt(want / have);
  const double width = input.w() * scale, height = input.h() * scale;
  constexpr double kMost = 65536;
  const bool whole =
      std::fabs(width - std::round(width)) < 1e-6 && std::fabs(height - std::round(height)) < 1e-6;
  if (!whole || width > kMost || height > kMost || scale == 1) return "";
  return "; the model was exported for one size: its numbers fit --size " +
         picture_size(static_cast<int>(std::round(width)), static_cast<int>(std::round(height)));
}

std::string size_hint(const onnx::NodeProto& node, const onnx::GraphProto& proto,
                      const OnnxImporter& importer) {
  const Graph& graph = importer.builder.graph;
  if (graph.input < 0 || graph.shape_of(graph.input).rank != 4) return "";
  const Shape input = graph.shape_of(graph.input);
  if (meets_other_sizes(node, importer)) {
    const std::string advice = plan::size_advice(graph, input.w(), input.h());
    if (!advice.empty()) return advice;
  }
  if (importer.options.width == 0) return "";
  const onnx::ValueInfoProto* info = find_input(proto, nth(graph.values, graph.input).name);
  const std::vector<int64_t> own = info ? onnx_input_dims(*info) : std::vector<int64_t>();
  const bool open =
      own.size() != 4 || std::any_of(own.begin() + 1, own.end(), [](int64_t d) { return d < 0; });
  if (open) return exported_size(node, input, importer);
  const size_t rows = own[1] == input.c() && own[2] > 0 ? 2 : 1;
  const int64_t height = own[rows], width = own[rows + 1];
  if (height == input.h() && width == input.w()) return "";
  return format("; the model was exported for one size, %lldx%lld: leave --size out",
                static_cast<long long>(width), static_cast<long long>(height));
}

bool reads_any(const onnx::NodeProto& node, const std::set<std::string>& names) {
  const std::vector<std::string> read = onnx_names_read(node);
  return std::any_of(read.begin(), read.end(),
                     [&](const std::string& name) { return names.count(name) > 0; });
}

}  // namespace

std::vector<std::string> results_before(const OnnxRefusal& refusal, const OnnxImporter& importer) {
  // Results that cannot be computed, those that follow from the input, and those to stop at.
  std::set<std::string> lost, computed, ends;
  const Graph& graph = importer.builder.graph;
  if (graph.input >= 0) computed.insert(nth(graph.values, graph.input).name);
  std::vector<std::string> order;
  for (int i = 0; i < refusal.proto.node_size(); ++i) {
    const onnx::NodeProto& node = refusal.proto.node(i);
    if (!nth(refusal.needs.nodes, i)) continue;
    const bool is_lost =
        i == refusal.node || (i > refusal.node && !refusal.knows(node)) || reads_any(node, lost);
    const bool is_computed =
        reads_any(node, computed) && node.op_type() != "Shape" && node.op_type() != "Size";
    if (is_lost) {
      for (const std::string& name : onnx_names_read(node)) {
        if (computed.count(name) > 0 && lost.count(name) == 0) ends.insert(name);
      }
    }
    for (const std::string& name : node.output()) {
      const auto known = importer.entries.find(name);
      if (known != importer.entries.end() && known->second.constant) continue;
      if (is_lost) lost.insert(name);
      if (is_computed) computed.insert(name);
      order.push_back(name);
    }
  }
  for (const std::string& name : refusal.wanted) {
    if (computed.count(name) > 0 && lost.count(name) == 0) ends.insert(name);
  }
  std::vector<std::string> results;
  for (const std::string& name : order) {
    if (!name.empty() && ends.count(name) > 0) results.push_back(name);
  }
  return results;
}

Error with_hint(const Error& error, const OnnxRefusal& refusal, const OnnxImporter& importer) {
  if (importer.batch > 1 && error.code == ErrorCode::kMalformed) {
    return {error.code, error.message + format("; the model was exported for a batch of %lld, and "
                                               "the network takes one picture: export it for one",
                                               static_cast<long long>(importer.batch))};
  }
  // A missing input, or an unknown name, is missing at every size.
  if (error.code == ErrorCode::kNotFound) return error;
  const onnx::NodeProto& node = refusal.proto.node(refusal.node);
  const std::string size =
      refusal.knows(node) ? size_hint(node, refusal.proto, importer) : std::string();
  if (!size.empty()) return {error.code, error.message + size};
  if (error.code != ErrorCode::kUnsupported) return error;
  const std::vector<std::string> results = results_before(refusal, importer);
  std::string list = joined(results, ",");
  // A name with a comma cannot be given on the command line; a long list is of no use.
  constexpr size_t kMostNames = 16;
  const auto commas = static_cast<size_t>(std::count(list.begin(), list.end(), ','));
  if (results.empty()) return error;
  if (results.size() > kMostNames || commas + 1 != results.size()) list = "NAME,...";
  return {error.code, error.message + "; cut the model before it: --outputs " + list};
}

}  // namespace dvnn::import
