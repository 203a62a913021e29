// SPDX-License-Identifier: Apache-2.0
// Passes that fold arithmetic into weights.
#include <algorithm>
#include <cmath>

#include "plan/passes.h"

namespace dvnn::plan {
namespace {

// `into` takes over what `gone` made and the names of its layers.
void absorb(Graph* graph, Node* into, Node* gone) {
  graph->replace_shape_input(into->output, gone->output);
  into->output = gone->output;
  into->name = gone->name;
  into->layers.insert(into->layers.end(), gone->layers.begin(), gone->layers.end());
  gone->dead = true;
}

void scale_convolution(Node* conv, const Node& affine) {
  const size_t m = affine.weights.size();
  const size_t per_kernel = conv->weights.size() / m;
  for (size_t k = 0; k < m; ++k) {
    for (size_t i = 0; i < per_kernel; ++i) conv->weights[k * per_kernel + i] *= affine.weights[k];
    conv->bias[k] = conv->bias[k] * affine.weights[k] + affine.bias[k];
  }
}

}  // namespace

void remove_unused(Graph* graph) {
  std::vector<bool> needed(graph->values.size());
  for (int value : graph->outputs) needed[static_cast<size_t>(value)] = true;
  for (size_t i = graph->nodes.size(); i-- > 0;) {
    Node& node = graph->nodes[i];
    node.dead |= !needed[static_cast<size_t>(node.output)];
    if (node.dead) continue;
    for (int value : node.inputs) needed[static_cast<size_t>(value)] = true;
  }
  graph->sweep();
}

void fold_pads(Graph* graph) {
  constexpr int kMaxPad = 127;
  for (Node& node : graph->nodes) {
    if (node.op != Op::kConvolution || node.run.conv != device::ConvKind::kConv) continue;
    const int before = graph->sole_producer(node.inputs[0]);
    if (before < 0) continue;
    Node& pad = graph->nodes[static_cast<size_t>(before)];
    if (pad.op != Op::kCpu || pad.type != "Pad") continue;
    device::Pad sum = node.run.conv_pad;
    sum.left += pad.params["left"].get<int>();
    sum.right += pad.params["right"].get<int>();
    sum.top += pad.params["top"].get<int>();
    sum.bottom += pad.params["bottom"].get<int>();
    if (std::max({sum.left, sum.right, sum.top, sum.bottom}) > kMaxPad) continue;
    node.run.conv_pad = sum;
    node.inputs[0] = pad.inputs[0];
    node.layers.insert(node.layers.begin(), pad.layers.begin(), pad.layers.end());
    pad.dead = true;
  }
  graph->sweep();
}

void fold_affine(Graph* graph) {
  for (Node& node : graph->nodes) {
    if (node.op != Op::kAffine) continue;
    const int before = graph->sole_producer(node.inputs[0]);
    if (before < 0) continue;
    Node& producer = graph->nodes[static_cast<size_t>(before)];
    if (producer.op == Op::kAffine) {
      for (size_t c = 0; c < node.weights.size(); ++c) {
        producer.bias[c] = producer.bias[c] * node.weights[c] + node.bias[c];
        producer.weights[c] *= node.weights[c];
      }
    } else if (producer.op == Op::kConvolution || producer.op == Op::kInnerProduct) {
      scale_convolution(&producer, node);
    } else {
      continue;
    }
    absorb(graph, &producer, &node);
  }
  graph->sweep();
}

void fold_input_affine(Graph* graph, InputSpec* picture) {
  const std::vector<int> readers = graph->consumers(graph->input);
  if (readers.size() != 1 || graph->is_output(graph->input)) return;
  Node& node = graph->nodes[static_cast<size_t>(readers[0])];
  const bool zero = std::any_of(node.weights.begin(), node.weights.end(),
                                [](float w) { return std::fabs(w) < 1e-12f; });
  if (node.op != Op::kAffine || zero || node.weights.size() > picture->mean.size() ||
      graph->is_output(node.output)) {
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
  }
  graph->replace_shape_input(made, graph->input);
  node.inputs.clear();
  node.dead = true;
  graph->sweep();
}

namespace {

// A dense convolution, with zeros between the groups.
void make_dense(Node* node, size_t channels) {
  const size_t m = static_cast<size_t>(node->run.m), groups = static_cast<size_t>(node->groups);
  const size_t area =
      static_cast<size_t>(node->run.kernel.x) * static_cast<size_t>(node->run.kernel.y);
  const size_t c_in = channels / groups, m_in = m / groups;
  std::vector<float> dense(m * channels * area, 0.0f);
  for (size_t k = 0; k < m; ++k) {
    const auto from = node->weights.begin() + static_cast<std::ptrdiff_t>(k * c_in * area);
    std::copy(from, from + static_cast<std::ptrdiff_t>(c_in * area),
              dense.begin() + static_cast<std::ptrdiff_t>((k * channels + k / m_in * c_in) * area));
  }
  node->weights = std::move(dense);
  node->groups = 1;
}

// A convolution per group, of a slice of whole chunks, and a concatenation: none of the two copies.
// They take the place of the node at `index`.
size_t slice_groups(Graph* graph, size_t index) {
  const Node node = graph->nodes[index];
  const Shape in = graph->shape_of(node.inputs[0]), out = graph->shape_of(node.output);
  const int c = in.c() / node.groups, m = out.c() / node.groups;
  std::vector<Node> nodes;
  Node concat;
  concat.op = Op::kConcat;
  concat.name = node.name;
  concat.layers = node.layers;
  concat.type = "Concat";
  concat.params = {{"axis", 1}};
  concat.output = node.output;
  for (int g = 0; g < node.groups; ++g) {
    const std::string name = node.name + "_group" + std::to_string(g);
    Node slice;
    slice.op = Op::kCpu;
    slice.type = "Slice";
    slice.name = name;
    slice.layers = node.layers;
    slice.params = {
        {"begin", {0, g * c, 0, 0}}, {"step", {1, 1, 1, 1}}, {"count", {-1, c, -1, -1}}};
    slice.inputs = {node.inputs[0]};
    slice.output = graph->add_value(name + "_in", {1, c, in.h(), in.w()});
    Node conv = node;
    conv.name = name;
    conv.groups = 1;
    conv.inputs = {slice.output};
    conv.output = graph->add_value(name, {1, m, out.h(), out.w()});
    conv.run.m = m;
    auto part = [&](const std::vector<float>& all) {
      const auto count = static_cast<std::ptrdiff_t>(all.size()) / node.groups;
      return std::vector<float>(all.begin() + g * count, all.begin() + (g + 1) * count);
    };
    conv.weights = part(node.weights);
    conv.bias = part(node.bias);
    concat.inputs.push_back(conv.output);
    nodes.push_back(std::move(slice));
    nodes.push_back(std::move(conv));
  }
  nodes.push_back(std::move(concat));
  const auto at = graph->nodes.begin() + static_cast<std::ptrdiff_t>(index);
  graph->nodes.insert(graph->nodes.erase(at), nodes.begin(), nodes.end());
  return nodes.size();
}

}  // namespace

void lower_groups(Graph* graph) {
  for (size_t i = 0; i < graph->nodes.size(); ++i) {
    Node& node = graph->nodes[i];
    if (node.op != Op::kConvolution || node.groups == 1) continue;
    const int channels = graph->shape_of(node.inputs[0]).c();
    if (node.groups == channels && node.run.m == channels) {
      node.run.conv = node.run.conv == device::ConvKind::kDeconv
                          ? device::ConvKind::kDepthwiseDeconv
                          : device::ConvKind::kDepthwise;
    } else if (channels / node.groups % 8 == 0 && node.run.m / node.groups % 8 == 0 &&
               node.inputs[0] != graph->input) {
      i += slice_groups(graph, i) - 1;
    } else {
      make_dense(&node, static_cast<size_t>(channels));
    }
  }
}

Status lower_inner_products(Graph* graph, bool y_major) {
  for (size_t n = 0; n < graph->nodes.size(); ++n) {
    if (graph->nodes[n].op != Op::kInnerProduct) continue;
    // Flattening in front only says what this layer does anyway: read the picture behind it.
    int in = graph->nodes[n].inputs[0];
    for (int p = graph->producer(in); p >= 0; p = graph->producer(in)) {
      const Node& reshape = graph->nodes[static_cast<size_t>(p)];
      if (reshape.op != Op::kReshape) break;
      in = reshape.inputs[0];
    }
    Node& node = graph->nodes[n];
    const Shape shape = graph->shape_of(in);
    const size_t inputs = static_cast<size_t>(shape.elements());
    if (shape.rank == 4 && shape.elements() > shape.c()) {
      // Weights follow the order in which the device's buffer holds the picture.
      const Layout layout = y_major ? Layout::kHwc8 : Layout::kWhc8;
      std::vector<float> ordered(node.weights.size());
      for (size_t m = 0; m < static_cast<size_t>(node.run.m); ++m) {
        size_t linear = 0;
        for (int c = 0; c < shape.c(); ++c) {
          for (int h = 0; h < shape.h(); ++h) {
            for (int w = 0; w < shape.w(); ++w, ++linear) {
              const auto at = static_cast<size_t>(element_offset(layout, shape, 0, c, h, w));
              ordered[m * inputs + at] = node.weights[m * inputs + linear];
            }
          }
        }
      }
      node.weights = std::move(ordered);
      node.params["reordered"] = true;
    }
    node.op = Op::kConvolution;
    node.run.conv = device::ConvKind::kConv;
    node.params["flattens"] = true;
    node.inputs[0] = in;
  }
  // Reshapes that nobody reads any more.
  for (bool changed = true; changed;) {
    changed = false;
    for (Node& node : graph->nodes) {
      if (!node.dead && node.op == Op::kReshape && graph->consumers(node.output).empty() &&
          !graph->is_output(node.output)) {
        node.dead = changed = true;
      }
    }
  }
  graph->sweep();
  return {};
}

}  // namespace dvnn::plan
