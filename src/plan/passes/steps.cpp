// SPDX-License-Identifier: Apache-2.0
// Poolings that only skip elements, between a permutation and its inverse: PyTorch exports poolings
// over channels like this.
#include "base/nth.h"
#include "plan/passes/passes.h"
#include "plan/passes/rewriter.h"

namespace dvnn::plan {
namespace {

using layers::PermuteAttributes;

// Returns whether a pooling of a picture has windows of one element, and no pads.
bool only_steps(const Node& node) {
  if (node.op != Op::kPooling || node.run.pool != device::PoolKind::kMax || node.adds() ||
      node.pooling().global) {
    return false;
  }
  const device::Pad& pad = node.run.pool_pad;
  return node.run.pool_size.x == 1 && node.run.pool_size.y == 1 &&
         pad.left + pad.right + pad.top + pad.bottom == 0;
}

bool is_inverse(const std::vector<int>& order, const std::vector<int>& of) {
  if (order.size() != 4 || of.size() != 4) return false;
  for (size_t i = 0; i < 4; ++i) {
    if (nth(of, order[i]) != static_cast<int>(i)) return false;
  }
  return true;
}

class StepSlicer {
 public:
  explicit StepSlicer(Graph* graph) : rewriter_(graph) {}

  void run() {
    for (size_t i = 0; i < rewriter_.count(); ++i) {
      if (!rewriter_.node(i).dead && rewriter_.node(i).layer<PermuteAttributes>()) slice(i);
    }
    rewriter_.finish();
  }

 private:
  // Turns the permutation at `index` into a slice if it is the last of the three nodes.
  void slice(size_t index) {
    const int pooling = rewriter_.sole_producer(rewriter_.node(index).inputs[0]);
    if (pooling < 0 || !only_steps(rewriter_.node(pooling))) return;
    const int first = rewriter_.sole_producer(rewriter_.node(pooling).inputs[0]);
    const auto* there = first < 0 ? nullptr : rewriter_.node(first).layer<PermuteAttributes>();
    if (!there) return;
    const std::vector<int> order = there->order;
    if (!is_inverse(rewriter_.node(index).layer<PermuteAttributes>()->order, order)) return;
    layers::SliceAttributes steps = {{0, 0, 0, 0}, {1, 1, 1, 1}, {-1, -1, -1, -1}};
    nth(steps.step, order[2]) = rewriter_.node(pooling).run.pool_stride.y;
    nth(steps.step, order[3]) = rewriter_.node(pooling).run.pool_stride.x;
    std::vector<std::string> layers = rewriter_.node(first).layers;
    layers.insert(layers.end(), rewriter_.node(pooling).layers.begin(),
                  rewriter_.node(pooling).layers.end());
    const int source = rewriter_.node(first).inputs[0];
    rewriter_.change(index, [&](Node* to) {
      to->inputs = {source};
      to->layers.insert(to->layers.begin(), layers.begin(), layers.end());
      to->set_layer(std::move(steps));
    });
    rewriter_.take(pooling);
    rewriter_.take(first);
  }

  Rewriter rewriter_;
};

}  // namespace

void slice_steps(Graph* graph) {
  StepSlicer(graph).run();
}

}  // namespace dvnn::plan
