// SPDX-License-Identifier: Apache-2.0
// Passes that fold arithmetic into weights, and poolings that only skip elements into slices.
#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "base/nth.h"
#include "device/limits.h"
#include "plan/passes/passes.h"
#include "plan/passes/rewriter.h"

namespace dvnn::plan {
namespace {

// Lets node `into` make the result of `from`, and take over the names of its layers.
void absorb(Rewriter* rewriter, size_t into, size_t from) {
  const Node gone = rewriter->take(from);
  rewriter->replace_shape_input(rewriter->node(into).output, gone.output);
  rewriter->change(into, [&](Node* node) {
    node->output = gone.output;
    node->name = gone.name;
    node->layers.insert(node->layers.end(), gone.layers.begin(), gone.layers.end());
  });
}

void scale_convolution(Node* conv, const Node& affine) {
  const size_t m = affine.weights.size();
  const size_t per_kernel = conv->weights.size() / m;
  for (size_t k = 0; k < m; ++k) {
    for (size_t i = 0; i < per_kernel; ++i) conv->weights[k * per_kernel + i] *= affine.weights[k];
    conv->bias[k] = conv->bias[k] * affine.weights[k] + affine.bias[k];
  }
}

float largest_of(const std::vector<float>& numbers) {
  float largest = 0;
  for (float number : numbers) largest = std::max(largest, std::fabs(number));
  return largest;
}

// Returns whether all products of two layers' factors are below binary16's smallest normal number,
// though the factors are not: the products would have fewer digits than the two steps.
bool vanish_together(const Node& before, const Node& affine) {
  constexpr float kLeastNormal = 1.0f / (1 << 14);
  if (largest_of(before.weights) < kLeastNormal || largest_of(affine.weights) < kLeastNormal) {
    return false;
  }
  const size_t per_factor = before.weights.size() / affine.weights.size();
  float largest = 0;
  for (size_t i = 0; i < before.weights.size(); ++i) {
    largest = std::max(largest, std::fabs(before.weights[i] * affine.weights[i / per_factor]));
  }
  return largest > 0 && largest < kLeastNormal;
}

}  // namespace

void remove_unused(Graph* graph) {
  std::vector<bool> needed(graph->values.size());
  for (int value : graph->outputs) nth(needed, value) = true;
  for (size_t i = graph->nodes.size(); i-- > 0;) {
    Node& node = graph->nodes[i];
    node.dead |= !nth(needed, node.output);
    if (node.dead) continue;
    for (int value : node.inputs) nth(needed, value) = true;
  }
  graph->sweep();
}

void fold_pads(Graph* graph) {
  Rewriter rewriter(graph);
  for (size_t i = 0; i < rewriter.count(); ++i) {
    const Node& node = rewriter.node(i);
    if (node.op != Op::kConvolution || node.run.conv != device::ConvKind::kConv) continue;
    const int before = rewriter.sole_producer(node.inputs[0]);
    if (before < 0) continue;
    const auto* pad = rewriter.node(before).layer<layers::PadAttributes>();
    if (!pad) continue;
    device::Pad sum = node.run.conv_pad;
    sum.left += pad->left;
    sum.right += pad->right;
    sum.top += pad->top;
    sum.bottom += pad->bottom;
    if (std::max({sum.left, sum.right, sum.top, sum.bottom}) > device::kMaxPadLeftTop) continue;
    const Node gone = rewriter.take(before);
    rewriter.change(i, [&](Node* conv) {
      conv->run.conv_pad = sum;
      conv->inputs[0] = gone.inputs[0];
      conv->layers.insert(conv->layers.begin(), gone.layers.begin(), gone.layers.end());
    });
  }
  rewriter.finish();
}

void fold_affine(Graph* graph) {
  Rewriter rewriter(graph);
  for (size_t i = 0; i < rewriter.count(); ++i) {
    const Node& node = rewriter.node(i);
    if (node.op != Op::kAffine) continue;
    const int before = rewriter.sole_producer(node.inputs[0]);
    if (before < 0) continue;
    Node& producer = rewriter.node(before);
    const bool takes = producer.op == Op::kAffine || producer.op == Op::kConvolution ||
                       producer.op == Op::kInnerProduct;
    if (!takes || vanish_together(producer, node)) continue;
    if (producer.op == Op::kAffine) {
      for (size_t c = 0; c < node.weights.size(); ++c) {
        producer.bias[c] = producer.bias[c] * node.weights[c] + node.bias[c];
        producer.weights[c] *= node.weights[c];
      }
    } else {
      scale_convolution(&producer, node);
    }
    absorb(&rewriter, static_cast<size_t>(before), i);
  }
  rewriter.finish();
}

void fold_input_affine(Graph* graph, InputSpec* picture) {
  const std::vector<int> readers = graph->consumers(graph->input);
  if (readers.size() != 1 || graph->is_output(graph->input)) return;
  Node& node = nth(graph->nodes, readers[0]);
  const bool zero = std::any_of(node.weights.begin(), node.weights.end(),
                                [](float w) { return std::fabs(w) < 1e-12f; });
  if (!is_picture(graph->shape_of(graph->input)) || node.op != Op::kAffine || zero ||
      node.weights.size() > picture->mean.size() || graph->is_output(node.output)) {
    return;
  }
  // a ((p - mean) scale) + b = (p - (mean - b / (a scale))) (a scale)
  for (size_t c = 0; c < node.weights.size(); ++c) {
    picture->scale[c] *= node.weights[c];
    picture->mean[c] -= node.bias[c] / picture->scale[c];
  }
  const int made = node.output;
  for (Node& other : graph->nodes) {
    std::replace(other.inputs.begin(), other.inputs.end(), made, graph->input);
    if (auto* layer = other.as<CpuLayer>()) {
      std::replace(layer->shape_inputs.begin(), layer->shape_inputs.end(), made, graph->input);
    }
  }
  node.inputs.clear();
  node.dead = true;
  graph->sweep();
}

namespace {

// Most numbers of a dense kernel that a grouped one becomes: 32 MiB on the device. Its size grows
// with the square of the channels.
constexpr size_t kMostDense = size_t{1} << 24;

size_t dense_size(const Node& node, size_t channels) {
  return node.run.outputs() * channels * node.run.kernel.area();
}

// Turns a grouped convolution into a dense one, with zeros between the groups.
void make_dense(Node* node, size_t channels) {
  const size_t m = node->run.outputs(), groups = static_cast<size_t>(node->groups);
  const size_t area = node->run.kernel.area();
  const size_t c_in = channels / groups, m_in = m / groups;
  std::vector<float> dense(dense_size(*node, channels), 0.0f);
  for (size_t k = 0; k < m; ++k) {
    const auto from = node->weights.begin() + static_cast<std::ptrdiff_t>(k * c_in * area);
    std::copy(from, from + static_cast<std::ptrdiff_t>(c_in * area),
              dense.begin() + static_cast<std::ptrdiff_t>((k * channels + k / m_in * c_in) * area));
  }
  node->weights = std::move(dense);
  node->groups = 1;
}

// Replaces the node at `index` by a convolution per group, of a slice of whole chunks, and a
// concatenation. Neither slices nor concatenation copy anything.
void slice_groups(Rewriter* rewriter, size_t index) {
  const Node node = rewriter->take(index);
  const Shape in = rewriter->graph().shape_of(node.inputs[0]);
  const Shape out = rewriter->graph().shape_of(node.output);
  const int c = in.c() / node.groups, m = out.c() / node.groups;
  Node concat;
  concat.op = Op::kConcat;
  concat.name = node.name;
  concat.layers = node.layers;
  concat.set_layer(layers::ConcatAttributes{1});
  concat.output = node.output;
  for (int g = 0; g < node.groups; ++g) {
    const std::string name = node.name + "_group" + std::to_string(g);
    Node slice;
    slice.op = Op::kCpu;
    slice.name = name;
    slice.layers = node.layers;
    slice.set_layer(channels_from(g * c, c));
    slice.inputs = {node.inputs[0]};
    slice.output = rewriter->add_value(name + "_in", {1, c, in.h(), in.w()});
    Node conv = node;
    conv.name = name;
    conv.groups = 1;
    conv.inputs = {slice.output};
    conv.output = rewriter->add_value(name, {1, m, out.h(), out.w()});
    conv.run.m = m;
    auto part = [&](const std::vector<float>& all) {
      const auto count = static_cast<std::ptrdiff_t>(all.size()) / node.groups;
      return std::vector<float>(all.begin() + g * count, all.begin() + (g + 1) * count);
    };
    conv.weights = part(node.weights);
    conv.bias = part(node.bias);
    concat.inputs.push_back(conv.output);
    rewriter->insert_before(index, std::move(slice));
    rewriter->insert_before(index, std::move(conv));
  }
  rewriter->replace(index, std::move(concat));
}

}  // namespace

void lower_groups(Graph* graph) {
  Rewriter rewriter(graph);
  for (size_t i = 0; i < rewriter.count(); ++i) {
    Node& node = rewriter.node(i);
    if (node.op != Op::kConvolution || node.groups == 1) continue;
    const int channels = graph->shape_of(node.inputs[0]).c();
    const size_t dense = dense_size(node, static_cast<size_t>(channels));
    if (node.groups == channels && node.run.m == channels) {
      node.run.conv = node.run.conv == device::ConvKind::kDeconv
                          ? device::ConvKind::kDepthwiseDeconv
                          : device::ConvKind::kDepthwise;
    } else if (channels / node.groups % 8 == 0 && node.run.m / node.groups % 8 == 0 &&
               node.inputs[0] != graph->input) {
      slice_groups(&rewriter, i);
    } else if (dense > kMostDense) {
      node.why = format("its %d groups would be %zu MiB of weights, nearly all of them zeros",
                        node.groups, dense >> 19);
      to_cpu_convolution(&node);
    } else {
      make_dense(&node, static_cast<size_t>(channels));
    }
  }
  rewriter.finish();
}

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

// Poolings that only skip elements, between a permutation and its inverse: PyTorch exports poolings
// over channels like this.
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
