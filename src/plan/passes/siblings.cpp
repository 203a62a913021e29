// SPDX-License-Identifier: Apache-2.0
// Merges the heads of a detector: convolutions of one value with a few channels each, whose results
// only the CPU reads. The device computes chunks of 8 channels, so 1, 4, 1 and 10 channels cost as
// much as 40; as one convolution they cost as much as 16.
#include <algorithm>
#include <optional>

#include "base/nth.h"
#include "plan/passes/passes.h"
#include "plan/passes/rewriter.h"

namespace dvnn::plan {
namespace {

constexpr int kChunk = 8;

int chunks_of(int channels) {
  return (channels + kChunk - 1) / kChunk;
}

bool same(device::Extent a, device::Extent b) {
  return a.x == b.x && a.y == b.y;
}

// Returns whether a node is a convolution that nothing else has been fused into.
bool is_plain(const Node& node) {
  return node.op == Op::kConvolution && !node.adds() && node.slopes.empty() &&
         std::holds_alternative<std::monostate>(node.attributes) &&
         node.run.activation == device::Activation::kNone && same(node.run.dilation, {1, 1});
}

bool is_dense(const Node& node) {
  return is_plain(node) && node.run.conv == device::ConvKind::kConv && node.groups == 1;
}

bool same_windows(const device::ConvRun& a, const device::ConvRun& b) {
  const device::Pad &p = a.conv_pad, &q = b.conv_pad;
  return same(a.kernel, b.kernel) && same(a.stride, b.stride) && p.left == q.left &&
         p.right == q.right && p.top == q.top && p.bottom == q.bottom;
}

// Returns whether a node only moves elements, on the CPU.
bool is_move(const Node& node) {
  return node.op == Op::kReshape || node.layer<layers::PermuteAttributes>() != nullptr;
}

// A convolution and, if there is one, a second one that works on each of its channels alone.
struct Sibling {
  size_t node;
  std::optional<size_t> follower;
  int channels;
};

class SiblingMerger {
 public:
  explicit SiblingMerger(Graph* graph) : graph_(*graph), rewriter_(graph) {
    readers_.resize(graph->values.size());
    for (size_t i = 0; i < rewriter_.count(); ++i) {
      const Node& node = rewriter_.node(i);
      for (int value : node.inputs) nth(readers_, value).push_back(i);
      const auto* layer = node.as<CpuLayer>();
      if (!layer) continue;
      for (int value : layer->shape_inputs) nth(readers_, value).push_back(i);
    }
  }

  void run() {
    for (const std::vector<size_t>& readers : readers_) {
      std::vector<Sibling> siblings;
      for (size_t i : readers) {
        const auto sibling = sibling_at(i);
        if (sibling) siblings.push_back(*sibling);
      }
      while (siblings.size() > 1) merge(take_family(&siblings));
    }
    rewriter_.finish();
  }

 private:
  // Returns the node at `index` as a sibling, if only the CPU reads its result.
  std::optional<Sibling> sibling_at(size_t index) {
    const Node& node = rewriter_.node(index);
    if (!is_dense(node)) return std::nullopt;
    if (is_moved(node.output)) return Sibling{index, std::nullopt, node.run.m};
    const std::vector<size_t>& readers = nth(readers_, node.output);
    if (rewriter_.is_output(node.output) || readers.size() != 1) return std::nullopt;
    const Node& follower = rewriter_.node(readers[0]);
    if (!keeps_channels_apart(follower) || !is_moved(follower.output)) return std::nullopt;
    return Sibling{index, readers[0], node.run.m};
  }

  bool is_moved(int value) {
    const std::vector<size_t>& readers = nth(readers_, value);
    return !rewriter_.is_output(value) && !readers.empty() &&
           std::all_of(readers.begin(), readers.end(),
                       [this](size_t i) { return is_move(rewriter_.node(i)); });
  }

  static bool keeps_channels_apart(const Node& node) {
    return is_plain(node) &&
           (node.run.conv == device::ConvKind::kDepthwise || (is_dense(node) && node.run.m == 1)) &&
           node.weights.size() == node.run.outputs() * node.run.kernel.area();
  }

  bool may_join(const Sibling& a, const Sibling& b) {
    if (!same_windows(rewriter_.node(a.node).run, rewriter_.node(b.node).run)) return false;
    if (!a.follower || !b.follower) return !a.follower && !b.follower;
    return same_windows(rewriter_.node(*a.follower).run, rewriter_.node(*b.follower).run);
  }

  // Removes from the list the first sibling and all others that may join it, and returns them.
  std::vector<Sibling> take_family(std::vector<Sibling>* siblings) {
    const Sibling first = siblings->front();
    const auto others =
        std::stable_partition(siblings->begin(), siblings->end(),
                              [&](const Sibling& sibling) { return !may_join(first, sibling); });
    std::vector<Sibling> family(others, siblings->end());
    siblings->erase(others, siblings->end());
    return family;
  }

  void merge(std::vector<Sibling> family) {
    int channels = 0, chunks = 0;
    size_t first = family[0].node;
    for (const Sibling& sibling : family) {
      channels += sibling.channels;
      chunks += chunks_of(sibling.channels);
      first = std::min(first, sibling.node);
    }
    if (chunks <= chunks_of(channels)) return;
    // Whole chunks come first, so that their slices need no copy.
    std::stable_partition(family.begin(), family.end(),
                          [](const Sibling& sibling) { return sibling.channels % kChunk == 0; });
    std::vector<size_t> nodes, followers;
    for (const Sibling& sibling : family) {
      nodes.push_back(sibling.node);
      if (sibling.follower) followers.push_back(*sibling.follower);
    }
    std::vector<int> results;
    Node merged = join(nodes, &results);
    int made = merged.output;
    rewriter_.insert_before(first, std::move(merged));
    if (!followers.empty()) {
      merged = join(followers, &results);
      merged.inputs = {made};
      merged.run.conv = device::ConvKind::kDepthwise;
      merged.groups = channels;
      made = merged.output;
      rewriter_.insert_before(first, std::move(merged));
    }
    int begin = 0;
    for (int result : results) begin = slice(first, made, begin, result);
  }

  // Removes the nodes and returns one convolution with their channels. `results`: their former
  // results.
  Node join(const std::vector<size_t>& nodes, std::vector<int>* results) {
    results->clear();
    Node merged;
    for (size_t index : nodes) {
      Node node = rewriter_.take(index);
      results->push_back(node.output);
      if (results->size() == 1) {
        merged = std::move(node);
        continue;
      }
      merged.layers.insert(merged.layers.end(), node.layers.begin(), node.layers.end());
      merged.run.m += node.run.m;
      merged.weights.insert(merged.weights.end(), node.weights.begin(), node.weights.end());
      merged.bias.insert(merged.bias.end(), node.bias.begin(), node.bias.end());
    }
    merged.name += ".." + nth(graph_.values, results->back()).name;
    Shape shape = graph_.shape_of(results->front());
    shape[1] = merged.run.m;
    merged.output = rewriter_.add_value(merged.name, shape);
    return merged;
  }

  // Makes channels of `from`, from `begin` on, the value `to`. Returns where they end.
  int slice(size_t before, int from, int begin, int to) {
    const int count = graph_.shape_of(to).c();
    Node node;
    node.op = Op::kCpu;
    node.name = nth(graph_.values, to).name;
    node.layers = {node.name};
    node.inputs = {from};
    node.output = to;
    node.set_layer(channels_from(begin, count));
    rewriter_.insert_before(before, std::move(node));
    return begin + count;
  }

  Graph& graph_;
  Rewriter rewriter_;
  std::vector<std::vector<size_t>> readers_;  // by value: nodes that read it or its shape
};

}  // namespace

void merge_siblings(Graph* graph) {
  SiblingMerger(graph).run();
}

}  // namespace dvnn::plan
