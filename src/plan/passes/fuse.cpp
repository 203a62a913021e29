// SPDX-License-Identifier: Apache-2.0
// Passes that choose the operations of each device command.
#include <algorithm>

#include "base/budget.h"
#include "plan/passes/passes.h"
#include "plan/passes/rewriter.h"

namespace dvnn::plan {
namespace {

using device::Activation;
using device::ConvKind;
using device::PoolKind;

// Returns the number of tiles along the width into which a convolution is cut, so that each fits
// the unified buffer. Source: dv-sdk converter, conv_tiles.
int convolution_tiles(const Node& node, const Shape& in, const Shape& out, int buffer_bytes) {
  if (node.run.conv == ConvKind::kDepthwise) return 1;
  for (int tiles = 1; tiles <= in.w(); ++tiles) {
    const int64_t w = (in.w() + tiles - 1) / tiles + node.run.kernel.x - 1;
    int64_t block = (w * in.h() * std::min(8, in.c()) + 7) / 8;
    block += (2 - block) & 15;
    int64_t total = block * ((in.c() + 7) / 8);
    total += -total & 15;
    const int64_t out_w = std::max<int64_t>(
        1, (w + node.run.conv_pad.left + node.run.conv_pad.right - node.run.kernel.x) /
                   node.run.stride.x +
               1);
    const int64_t result = out_w * out.h() * std::min(8, out.c());
    if ((8 * total + result) * 2 <= buffer_bytes) return tiles;
  }
  return in.w() + 1;
}

int pooling_tiles(const Shape& in, int buffer_bytes) {
  const int64_t bytes = int64_t{2} * in.w() * in.h() * std::min(8, in.c());
  return static_cast<int>((bytes + buffer_bytes - 1) / buffer_bytes);
}

// Returns whether f(max(a, b)) = max(f(a), f(b)): the device activates after pooling, the model
// before.
bool is_monotonic(const Node& node) {
  switch (node.run.activation) {
    case Activation::kRelu:
      return node.run.activation_param >= 0;
    case Activation::kPrelu:
      return std::all_of(node.slopes.begin(), node.slopes.end(), [](float s) { return s >= 0; });
    default:
      return true;
  }
}

class Fuser {
 public:
  Fuser(Graph* graph, const device::Limits& limits)
      : graph_(*graph), rewriter_(graph), limits_(limits) {}

  void run() {
    for (size_t i = 0; i < rewriter_.count(); ++i) {
      const Node& node = rewriter_.node(i);
      if (node.op == Op::kAdd) fuse_add(i);
      if (node.op == Op::kActivation) fuse_activation(i);
      if (node.op == Op::kPooling && node.run.pool == PoolKind::kMax) fuse_pooling(i);
    }
    rewriter_.finish();
  }

 private:
  // Returns the index of the command that makes `value`, if only one node reads it; else -1.
  int command_before(int value) {
    const int index = rewriter_.sole_producer(value);
    if (index < 0) return -1;
    const Node& node = rewriter_.node(index);
    const bool command = node.op == Op::kConvolution || (node.op == Op::kPooling && node.adds());
    return command ? index : -1;
  }

  // Merges the node at `index` into the command at `before`, which `change` extends. The command
  // takes the node's place, where all its inputs have been made.
  template <typename Change>
  void take_over(size_t index, int before, Change change) {
    Node merged = rewriter_.take(before);
    const Node node = rewriter_.take(index);
    change(&merged);
    merged.output = node.output;
    merged.name = node.name;
    merged.layers.insert(merged.layers.end(), node.layers.begin(), node.layers.end());
    rewriter_.replace(index, std::move(merged));
  }

  void fuse_add(size_t index) {
    Node* const node = &rewriter_.node(index);
    for (size_t side = 0; side < 2; ++side) {
      const int before = command_before(node->inputs[side]);
      const Node* conv = before < 0 ? nullptr : &rewriter_.node(before);
      const int other = node->inputs[1 - side];
      if (!conv || conv->op != Op::kConvolution || conv->adds() || other == node->inputs[side] ||
          conv->run.activation != Activation::kNone || conv->run.pool != PoolKind::kNone ||
          conv->flattens()) {
        continue;
      }
      take_over(index, before, [other](Node* merged) { merged->inputs.push_back(other); });
      return;
    }
    // If no convolution takes the sum, an average pooling over one pixel does, followed by the
    // addition.
    node->op = Op::kPooling;
    node->run.pool = PoolKind::kAverage;
    node->run.m = graph_.shape_of(node->output).c();
    if (!fold(node, graph_, limits_)) {
      node->op = Op::kCpu;
      node->why = "a sum of more elements than the device takes";
      node->set_layer(layers::ElementwiseAttributes::of(kernels::Operation::kAdd));
    }
  }

  void fuse_activation(size_t index) {
    const Node* const node = &rewriter_.node(index);
    const int at = command_before(node->inputs[0]);
    const Node* const before = at < 0 ? nullptr : &rewriter_.node(at);
    if (!before || before->run.activation != Activation::kNone ||
        before->run.pool == PoolKind::kMax) {
      return;
    }
    // PReLU's slopes are stored with the weights, but not for a dilated convolution.
    const bool dilated = before->run.dilation.x > 1 || before->run.dilation.y > 1;
    if (node->run.activation == Activation::kPrelu && (before->op != Op::kConvolution || dilated)) {
      return;
    }
    const device::ConvRun run = node->run;
    std::vector<float> slopes = node->slopes;
    take_over(index, at, [&](Node* merged) {
      merged->run.activation = run.activation;
      merged->run.activation_param = run.activation_param;
      merged->slopes = std::move(slopes);
    });
  }

  void fuse_pooling(size_t index) {
    const Node* const node = &rewriter_.node(index);
    const int at = command_before(node->inputs[0]);
    const Node* const before = at < 0 ? nullptr : &rewriter_.node(at);
    if (!before || before->op != Op::kConvolution || before->run.pool != PoolKind::kNone ||
        before->flattens() || before->fold.x > 0 || before->run.dilation.x > 1 ||
        before->run.dilation.y > 1 || !is_monotonic(*before)) {
      return;
    }
    const Shape in = graph_.shape_of(before->inputs[0]), conv = graph_.shape_of(before->output);
    // A window of the pooling would cross the border of two tiles.
    if (convolution_tiles(*before, in, conv, limits_.unified_buffer_bytes) != 1 ||
        pooling_tiles(conv, limits_.unified_buffer_bytes) != 1) {
      return;
    }
    device::ConvRun both = before->run;
    both.pool = node->run.pool;
    both.pool_size = node->run.pool_size;
    both.pool_stride = node->run.pool_stride;
    both.pool_pad = node->run.pool_pad;
    if (!device::misfit(both, {in.w(), in.h(), in.c()}, limits_).empty()) return;
    take_over(index, at, [&](Node* merged) { merged->run = both; });
  }

  Graph& graph_;
  Rewriter rewriter_;
  const device::Limits limits_;
};

}  // namespace

void fuse_commands(Graph* graph, const device::Limits& limits) {
  Fuser(graph, limits).run();
}

layers::ElementwiseAttributes activation_layer(const Node& node) {
  using kernels::Curve;
  using Layer = layers::ElementwiseAttributes;
  switch (node.run.activation) {
    case Activation::kTanh:
      return Layer::of(Curve::kTanh);
    case Activation::kRelu:
      return Layer::of(Curve::kRelu, node.run.activation_param);
    case Activation::kSigmoid:
      return Layer::of(Curve::kSigmoid);
    case Activation::kPrelu:
      return {1, {node.slopes}, {Layer::Step::of(kernels::Operation::kPrelu, 0, 1)}};
    case Activation::kElu:
      return Layer::of(Curve::kElu, 1);
    case Activation::kRelu6:
      return Layer::of(Curve::kClip, 0, 6);
    case Activation::kNone:
      break;
  }
  return Layer::of(Curve::kRelu, 1);  // y = x
}

namespace {

// Returns whether a function of single values is worth a command: its picture is on the device. A
// CPU layer's result stays on the CPU, to save a round trip for one function.
bool suits_device(Rewriter* rewriter, const Node& node) {
  const int before = rewriter->producer(node.inputs[0]);
  const Op op = before >= 0 ? rewriter->node(before).op : Op::kInput;
  const bool from_cpu = op == Op::kCpu || op == Op::kReshape;
  const Shape& shape = rewriter->graph().shape_of(node.output);
  return shape.rank == 4 && shape.n() == 1 && !from_cpu;
}

// Turns the node into a depthwise convolution; its weights and bias are set, one per channel.
// Returns false, and leaves it as it is, if its picture is beyond the device's limits.
bool to_depthwise(const Graph& graph, const device::Limits& limits, Node* node) {
  Node made = *node;
  made.op = Op::kConvolution;
  made.run.conv = ConvKind::kDepthwise;
  made.run.m = made.groups = graph.shape_of(node->output).c();
  if (!fold(&made, graph, limits)) return false;
  *node = std::move(made);
  return true;
}

}  // namespace

void lower_affines(Graph* graph, const device::Limits& limits) {
  Rewriter rewriter(graph);  // the changes below affect no input and no output
  for (Node& node : graph->nodes) {
    if (node.op == Op::kAffine && suits_device(&rewriter, node)) {
      to_depthwise(*graph, limits, &node);
    }
  }
}

Status lower_rest_to_cpu(Graph* graph, const device::Limits& limits) {
  // A depthwise kernel takes a block of 72 halves, though a file states an activation in one line.
  constexpr uint64_t kBytesPerChannel = 72 * sizeof(half_t);
  uint64_t weight_bytes = 0;
  Rewriter rewriter(graph);  // the changes below affect no input and no output
  std::vector<bool> chosen(graph->values.size());  // by value: whether it is compared
  for (const Node& node : graph->nodes) {
    if (!chooses(node)) continue;
    for (int value : node.inputs) nth(chosen, value) = true;
  }
  for (Node& node : graph->nodes) {
    if (node.op != Op::kAffine && node.op != Op::kActivation) continue;
    const bool compared = nth(chosen, node.output);
    if (node.op == Op::kActivation && !compared && suits_device(&rewriter, node)) {
      const size_t channels = graph->shape_of(node.output).channels();
      weight_bytes += channels * kBytesPerChannel;
      DVNN_TRY(check_budget(Budget::kWeightBytes, weight_bytes,
                            "weights of activations that become convolutions"));
      node.weights.assign(channels, 1.0f);
      node.bias.assign(channels, 0.0f);
      if (to_depthwise(*graph, limits, &node)) continue;
      node.why = "its picture is larger than the device takes";
    } else {
      node.why = compared ? "what is compared is not rounded to 16 bits"
                          : "its input is no picture, or comes from the CPU";
    }
    if (node.op == Op::kAffine) {
      using Step = layers::ElementwiseAttributes::Step;
      node.set_layer(layers::ElementwiseAttributes{
          1,
          {node.weights, node.bias},
          {Step::of(kernels::Operation::kMul, 0, 1), Step::of(kernels::Operation::kAdd, 3, 2)}});
    } else {
      node.set_layer(activation_layer(node));
    }
    node.op = Op::kCpu;
  }
  return {};
}

}  // namespace dvnn::plan
