// SPDX-License-Identifier: Apache-2.0
// Keeps comparisons consistent: values that meet in a comparison or a choice must have been rounded
// in the same way. The device rounds its inputs to binary16, so its maximum of a value in single
// precision no longer equals any element of that value.
#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "base/nth.h"
#include "plan/layout/placement.h"
#include "plan/passes/passes.h"

namespace dvnn::plan {
namespace {

using kernels::Operation;
using layers::ElementwiseAttributes;
using ElementStep = ElementwiseAttributes::Step;

bool is_device_maximum(const Node& node) {
  return node.op == Op::kPooling && !node.adds() && node.run.conv == device::ConvKind::kNone &&
         node.run.pool != device::PoolKind::kAverage &&
         node.run.activation == device::Activation::kNone;
}

bool reduces_to_element(const Node& node) {
  const auto* layer = node.layer<layers::ReduceAttributes>();
  return layer && (layer->operation == layers::Reduction::kMax ||
                   layer->operation == layers::Reduction::kMin);
}

bool pools_to_element(const Node& node) {
  const auto* pooling = node.layer<layers::PoolingAttributes>();
  const auto* windows = node.layer<layers::WindowPoolAttributes>();
  return (pooling && !pooling->average) ||
         (windows && windows->operation == layers::WindowPoolAttributes::Operation::kMax);
}

bool keeps_magnitude(kernels::Curve curve, float a, float b) {
  switch (curve) {
    case kernels::Curve::kAbs:
    case kernels::Curve::kClip:
      return true;
    case kernels::Curve::kRelu:
      return a == 0;
    case kernels::Curve::kLine:
      return std::fabs(a) == 1 && b == 0;
    default:
      return false;
  }
}

bool compares(const ElementStep& step) {
  switch (step.combines ? step.operation : Operation::kAdd) {
    case Operation::kEqual:
    case Operation::kGreater:
    case Operation::kGreaterOrEqual:
    case Operation::kLess:
    case Operation::kLessOrEqual:
    case Operation::kSub:
      return true;
    default:
      return false;
  }
}

// Returns whether a node chooses between elements of its operands, or changes their signs.
bool passes_elements(const Node& node) {
  const auto* layer = node.layer<ElementwiseAttributes>();
  return layer &&
         std::all_of(layer->steps.begin(), layer->steps.end(), [](const ElementStep& step) {
           if (!step.combines) return keeps_magnitude(step.curve, step.a, step.b);
           return step.operation == Operation::kMax || step.operation == Operation::kMin;
         });
}

// Returns the inputs whose elements the node's result contains unchanged.
std::vector<int> passed_on(const Node& node) {
  if (passes_elements(node)) return node.inputs;
  if (node.op == Op::kConcat || node.layer<layers::ChannelGatherAttributes>()) return node.inputs;
  if (node.layer<layers::WhereAttributes>()) return {node.inputs[1], node.inputs[2]};
  const auto* resize = node.layer<layers::ResizeAttributes>();
  const auto* top = node.layer<layers::TopKAttributes>();
  const bool passes =
      node.op == Op::kReshape || is_device_maximum(node) || reduces_to_element(node) ||
      pools_to_element(node) || (top && !top->places) ||
      (resize && resize->mode == layers::ResizeAttributes::Mode::kNearest) ||
      node.layer<layers::PermuteAttributes>() || node.layer<layers::SliceAttributes>() ||
      node.layer<layers::BorderAttributes>() || node.layer<layers::PadAttributes>() ||
      node.layer<layers::TileAttributes>() || node.layer<layers::GatherAttributes>() ||
      node.layer<layers::PixelGatherAttributes>();
  return passes ? std::vector<int>{node.inputs[0]} : std::vector<int>();
}

class PrecisionKeeper {
 public:
  PrecisionKeeper(Graph* graph, bool hwc) : graph_(*graph), placer_(*graph, hwc) {
    producers_.assign(graph->values.size(), -1);
    for (size_t i = 0; i < graph->nodes.size(); ++i) {
      nth(producers_, graph->nodes[i].output) = static_cast<int>(i);
    }
  }

  // Repairs the first place where values meet that were rounded differently. Returns false if there
  // is none.
  bool mend() {
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (!chooses(graph_.nodes[i])) continue;
      ways_.clear();
      maxima_.clear();
      for (int value : graph_.nodes[i].inputs) walk(value, kAsIs);
      for (const auto& [value, ways] : ways_) {
        if (ways != (kAsIs | kRounded) || is_rounded(value)) continue;
        if (maxima_.empty()) {
          round(value);
        } else {
          for (size_t node : maxima_) to_cpu(&graph_.nodes[node]);
        }
        return true;
      }
    }
    return false;
  }

 private:
  // Flags: ways on which a value comes to the place where it is compared.
  static constexpr unsigned kAsIs = 1, kRounded = 2;

  // Follows a value back to the sources of its elements.
  void walk(int value, unsigned way) {
    std::vector<std::pair<int, unsigned>> open = {{value, way}};
    while (!open.empty()) {
      const auto [at, how] = open.back();
      open.pop_back();
      unsigned& ways = ways_[at];
      if ((ways & how) == how) continue;
      ways |= how;
      const int index = nth(producers_, at);
      if (index < 0) continue;
      const Node& node = nth(graph_.nodes, index);
      if (is_device_maximum(node) &&
          std::find(maxima_.begin(), maxima_.end(), static_cast<size_t>(index)) == maxima_.end()) {
        maxima_.push_back(static_cast<size_t>(index));
      }
      for (int from : passed_on(node)) {
        const bool rounds = is_half(at) && !is_rounded(from);
        open.push_back({from, rounds ? kRounded : how});
      }
    }
  }

  bool is_half(int value) const { return placer_.at(value).desc.type == ElementType::kFloat16; }

  // Returns whether binary16 holds the value exactly.
  bool is_rounded(int value) const {
    if (is_half(value)) return true;
    const int index = nth(producers_, value);
    const auto* layer =
        index < 0 ? nullptr : nth(graph_.nodes, index).layer<ElementwiseAttributes>();
    return layer && layer->steps.back().curve == kernels::Curve::kHalf;
  }

  void to_cpu(Node* node) {
    node->why = "what it is compared with was not rounded to 16 bits";
    to_cpu_pooling(node, graph_.shape_of(node->output));
  }

  // Rounds the value to binary16 for all its readers.
  void round(int value) {
    Node node;
    node.op = Op::kCpu;
    node.name = nth(graph_.values, value).name + "_half";
    node.why = "what is compared is rounded where the device reads it";
    node.inputs = {value};
    node.output = graph_.add_value(node.name, Shape(graph_.shape_of(value)));
    node.set_layer(ElementwiseAttributes::of(kernels::Curve::kHalf));
    for (Node& reader : graph_.nodes) {
      std::replace(reader.inputs.begin(), reader.inputs.end(), value, node.output);
    }
    const int producer = nth(producers_, value);
    if (producer >= 0) node.layers = nth(graph_.nodes, producer).layers;
    graph_.nodes.insert(graph_.nodes.begin() + producer + 1, std::move(node));
  }

  Graph& graph_;
  const Placer placer_;
  std::vector<int> producers_;              // by value: the node that makes it
  std::unordered_map<int, unsigned> ways_;  // by value: flags of its ways to the choice
  std::vector<size_t> maxima_;              // the device's maximum poolings on these ways
};

}  // namespace

bool chooses(const Node& node) {
  if (const auto* layer = node.layer<ElementwiseAttributes>()) {
    return std::any_of(layer->steps.begin(), layer->steps.end(), compares);
  }
  return node.layer<layers::ArgReduceAttributes>() || node.layer<layers::TopKAttributes>();
}

void keep_precision(Graph* graph, bool hwc) {
  // Each round moves a pooling off the device, or rounds one more value.
  while (std::any_of(graph->nodes.begin(), graph->nodes.end(), chooses) &&
         PrecisionKeeper(graph, hwc).mend()) {
  }
}

}  // namespace dvnn::plan
