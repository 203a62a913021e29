// SPDX-License-Identifier: Apache-2.0
// Passes for branches that are joined again: Inception and fire modules.
#include <algorithm>
#include <unordered_set>

#include "base/nth.h"
#include "device/limits.h"
#include "plan/passes/passes.h"
#include "plan/passes/rewriter.h"

namespace dvnn::plan {
namespace {

using device::PoolKind;

constexpr size_t kMaxDepth = 2;  // largest number of runs of a branch; as in the dv-sdk converter

bool is_channel_concat(const Graph& graph, const Node& node) {
  return !node.dead && node.op == Op::kConcat &&
         node.layer<layers::ConcatAttributes>()->axis == 1 && graph.shape_of(node.output).rank == 4;
}

bool is_run(const Node& node) {
  const bool dilated = node.run.dilation.x > 1 || node.run.dilation.y > 1;
  return (node.op == Op::kConvolution || node.op == Op::kPooling) && !node.adds() && !dilated &&
         !node.flattens() && node.fold.x == 0;
}

class Merger {
 public:
  Merger(Graph* graph, const device::Limits& limits)
      : graph_(*graph), rewriter_(graph), limits_(limits) {}

  void run() {
    for (size_t i = 0; i < rewriter_.count(); ++i) {
      if (is_channel_concat(graph_, rewriter_.node(i))) merge(i);
    }
    rewriter_.finish();
  }

 private:
  // Returns the runs that compute `value` from `source`, in order; empty if there are no such.
  std::vector<int> chain(int value, int source) const {
    std::vector<int> nodes;
    while (value != source) {
      const int made_by = rewriter_.sole_producer(value);
      if (made_by < 0 || nodes.size() == kMaxDepth) return {};
      const Node& node = nth(graph_.nodes, made_by);
      if (!is_run(node)) return {};
      nodes.insert(nodes.begin(), made_by);
      value = node.inputs[0];
    }
    return nodes;
  }

  // Returns candidates for the source of all branches: inputs of the first branch's last two runs.
  std::vector<int> sources(int value) const {
    std::vector<int> list;
    for (size_t depth = 0; depth < kMaxDepth; ++depth) {
      const int made_by = rewriter_.sole_producer(value);
      if (made_by < 0 || !is_run(nth(graph_.nodes, made_by))) break;
      value = nth(graph_.nodes, made_by).inputs[0];
      list.push_back(value);
    }
    return list;
  }

  // All branches but the last must end with whole chunks, because the next one's chunks follow.
  bool chunks_fit(const Node& concat) const {
    return std::all_of(concat.inputs.begin(), concat.inputs.end() - 1,
                       [this](int value) { return graph_.shape_of(value).c() % 8 == 0; });
  }

  bool fits_device(const Branches& branches, const Shape& shape) const {
    const device::Dims in = {shape.w(), shape.h(), shape.c()};
    std::vector<device::ConvRun> runs;
    device::RunWalk walk(in, branches.topo);
    for (const Node& part : branches.parts) {
      runs.push_back(part.run);
      if (device::count_tiles(part.run, walk.in(), false, limits_.unified_buffer_bytes) != 1 ||
          !device::misfit(part.run, walk.in(), limits_).empty()) {
        return false;
      }
      walk.pass(part.run);
    }
    return device::unified_buffer_use(runs, branches.topo, in) <= limits_.unified_buffer_bytes;
  }

  bool try_merge(size_t index, int source) {
    const Node& concat = graph_.nodes[index];
    std::vector<int> members;
    std::unordered_set<std::string> known;  // a pooling may be part of several branches
    Node merged;
    Branches branches;
    for (int value : concat.inputs) {
      const std::vector<int> nodes = chain(value, source);
      if (nodes.empty()) return false;
      for (int n : nodes) {
        const Node& node = nth(graph_.nodes, n);
        members.push_back(n);
        branches.parts.push_back(node);
        for (const std::string& layer : node.layers) {
          if (known.insert(layer).second) merged.layers.push_back(layer);
        }
      }
      if (branches.parts.size() > device::kMaxRuns) return false;
      branches.topo |= uint32_t{1} << (branches.parts.size() - 1);
    }
    if (!fits_device(branches, graph_.shape_of(source))) return false;
    merged.op = Op::kBranches;
    merged.name = concat.name;
    merged.layers.insert(merged.layers.end(), concat.layers.begin(), concat.layers.end());
    merged.inputs = {source};
    merged.output = concat.output;
    merged.attributes = std::move(branches);
    for (int n : members) rewriter_.take(n);
    rewriter_.replace(index, std::move(merged));
    return true;
  }

  void merge(size_t index) {
    const Node& concat = graph_.nodes[index];
    if (concat.inputs.size() < 2 || !chunks_fit(concat)) return;
    for (int source : sources(concat.inputs[0])) {
      if (graph_.shape_of(source).rank == 4 && try_merge(index, source)) return;
    }
  }

  Graph& graph_;
  Rewriter rewriter_;
  const device::Limits limits_;
};

// Returns whether a later pass may fuse the node into a convolution.
bool may_join_convolution(const Node& node) {
  return node.op == Op::kConvolution || node.op == Op::kAffine || node.op == Op::kActivation;
}

// Returns whether a convolution makes the value, perhaps with an activation in its command.
bool is_convolution_alone(Rewriter* rewriter, int value) {
  int made_by = rewriter->sole_producer(value);
  if (made_by >= 0 && rewriter->node(made_by).op == Op::kActivation) {
    made_by = rewriter->sole_producer(rewriter->node(made_by).inputs[0]);
  }
  if (made_by < 0) return false;
  const Node& node = rewriter->node(made_by);
  return node.op == Op::kConvolution && !node.flattens();
}

// Moves the concatenation at `before`, as `concat`, to the place of the node at `index`, and puts
// `parts` where it was.
void put_parts_first(Rewriter* rewriter, int before, size_t index, Node concat,
                     std::vector<Node> parts) {
  rewriter->take(before);
  rewriter->replace(index, std::move(concat));
  for (Node& part : parts) rewriter->insert_before(static_cast<size_t>(before), std::move(part));
}

}  // namespace

void merge_branches(Graph* graph, const device::Limits& limits) {
  Merger(graph, limits).run();
}

void split_at_concat(Graph* graph) {
  Rewriter rewriter(graph);
  for (size_t i = 0; i < rewriter.count(); ++i) {
    if (rewriter.node(i).op != Op::kActivation && rewriter.node(i).op != Op::kAffine) continue;
    const int before = rewriter.sole_producer(rewriter.node(i).inputs[0]);
    if (before < 0 || !is_channel_concat(*graph, rewriter.node(before))) {
      continue;
    }
    const Node node = rewriter.node(i);
    Node concat = rewriter.node(before);
    if (!std::all_of(concat.inputs.begin(), concat.inputs.end(), [&](int value) {
          const int made_by = rewriter.sole_producer(value);
          return made_by >= 0 && may_join_convolution(rewriter.node(made_by));
        })) {
      continue;
    }
    std::vector<Node> parts;
    std::ptrdiff_t first = 0;
    for (int& value : concat.inputs) {
      const std::ptrdiff_t last = first + graph->shape_of(value).c();
      auto own = [&](const std::vector<float>& all) {
        return all.empty() ? all : std::vector<float>(all.begin() + first, all.begin() + last);
      };
      Node part = node;
      part.inputs = {value};
      part.weights = own(node.weights);
      part.bias = own(node.bias);
      part.slopes = own(node.slopes);
      part.output = rewriter.add_value(node.name, Shape(graph->shape_of(value)));
      value = part.output;
      parts.push_back(std::move(part));
      first = last;
    }
    rewriter.replace_shape_input(concat.output, node.output);
    concat.output = node.output;
    put_parts_first(&rewriter, before, i, std::move(concat), std::move(parts));
  }
  rewriter.finish();
}

Status pool_before_concat(Graph* graph) {
  Rewriter rewriter(graph);
  for (size_t i = 0; i < rewriter.count(); ++i) {
    DVNN_TRY(rewriter.check_size());
    const Node& found = rewriter.node(i);
    if (found.op != Op::kPooling || found.run.pool != PoolKind::kMax || found.adds()) continue;
    const int before = rewriter.sole_producer(found.inputs[0]);
    if (before < 0 || !is_channel_concat(*graph, rewriter.node(before))) {
      continue;
    }
    const Node pool = found;
    Node concat = rewriter.node(before);
    if (!std::all_of(concat.inputs.begin(), concat.inputs.end(),
                     [&](int value) { return is_convolution_alone(&rewriter, value); })) {
      continue;
    }
    // The concatenation replaces the pooling, and poolings of its inputs replace the concatenation.
    std::vector<Node> poolings;
    const Shape pooled = graph->shape_of(pool.output);
    for (int& value : concat.inputs) {
      Node part = pool;
      const int channels = graph->shape_of(value).c();
      part.inputs = {value};
      part.run.m = channels;
      part.output = rewriter.add_value(pool.name, {1, channels, pooled.h(), pooled.w()});
      value = part.output;
      poolings.push_back(std::move(part));
    }
    concat.output = pool.output;
    put_parts_first(&rewriter, before, i, std::move(concat), std::move(poolings));
  }
  rewriter.finish();
  return {};
}

}  // namespace dvnn::plan
