// SPDX-License-Identifier: Apache-2.0
// Values beyond binary16 are stored divided by a power of two. Convolutions, affine and fully
// connected layers apply the power in their weights; nodes that only move, add, join or take the
// largest keep it; for all others the value is restored, in single precision.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "base/nth.h"
#include "plan/passes/passes.h"

namespace dvnn::plan {
namespace {

// Largest magnitude left as it is, and the one to scale to: other pictures may have larger values.
constexpr float kMostMeasured = 16384, kWanted = 4096;
// A function's result above this (a power of e to the pixels' values) comes from a picture that the
// model is not for. Dividing by that much would leave nothing of a one.
constexpr float kMostMeant = kWanted * (1 << 20);

bool changes_power(const Node& node) {
  return node.op == Op::kConvolution || node.op == Op::kAffine || node.op == Op::kInnerProduct;
}

bool keeps_power(const layers::LayerAttributes& layer) {
  if (const auto* border = layer.as<layers::BorderAttributes>()) return border->value == 0;
  if (const auto* pool = layer.as<layers::WindowPoolAttributes>()) {
    return pool->operation != layers::WindowPoolAttributes::Operation::kPlace;
  }
  return layer.as<layers::ConcatAttributes>() || layer.as<layers::PadAttributes>() ||
         layer.as<layers::PermuteAttributes>() || layer.as<layers::ReshapeAttributes>() ||
         layer.as<layers::ResizeAttributes>() || layer.as<layers::SliceAttributes>() ||
         layer.as<layers::TileAttributes>();
}

// Returns whether a node is a sum of values of one shape, perhaps with coefficients.
bool is_sum(const Graph& graph, const Node& node) {
  const auto* layer = node.layer<layers::ElementwiseAttributes>();
  return layer && node.inputs.size() > 1 &&
         std::all_of(
             node.inputs.begin(), node.inputs.end(),
             [&](int value) { return graph.shape_of(value) == graph.shape_of(node.output); }) &&
         std::all_of(layer->steps.begin(), layer->steps.end(), [](const auto& step) {
           return step.combines ? step.operation == kernels::Operation::kAdd
                                : step.curve == kernels::Curve::kLine && step.b == 0;
         });
}

// Returns whether the result has the same power as all inputs.
bool keeps_power(const Graph& graph, const Node& node) {
  switch (node.op) {
    case Op::kAdd:
    case Op::kConcat:
    case Op::kPooling:
    case Op::kReshape:
      return true;
    case Op::kActivation:
      return node.run.activation == device::Activation::kNone ||
             node.run.activation == device::Activation::kRelu ||
             node.run.activation == device::Activation::kPrelu;
    case Op::kCpu:
      return is_sum(graph, node) ||
             (!node.inputs.empty() && keeps_power(std::get<CpuLayer>(node.attributes).attributes));
    default:
      return false;
  }
}

// Groups of values with one power each: value = stored value * 2^power.
class Powers {
 public:
  explicit Powers(const Graph& graph) : parents_(graph.values.size()), powers_(parents_.size(), 0) {
    std::iota(parents_.begin(), parents_.end(), 0);
    for (const Node& node : graph.nodes) {
      if (!keeps_power(graph, node)) continue;
      for (int value : node.inputs) join(value, node.output);
    }
  }

  void choose(const Graph& graph, const std::vector<float>& largest) {
    const std::vector<bool> meaningless = beyond_meaning(graph, largest);
    for (size_t i = 0; i < largest.size(); ++i) {
      if (!(largest[i] > kMostMeasured) || meaningless[i]) continue;
      int& power = nth(powers_, root(static_cast<int>(i)));
      power = std::max(power, static_cast<int>(std::ceil(std::log2(largest[i] / kWanted))));
    }
    // The inputs keep their scale, as do results of nodes that neither weights nor these rules
    // scale.
    pin(graph.input);
    for (const ExtraInput& extra : graph.extra_inputs) pin(extra.value);
    for (const Node& node : graph.nodes) {
      if (!changes_power(node) && !keeps_power(graph, node)) pin(node.output);
    }
  }

  bool any() const {
    return std::any_of(powers_.begin(), powers_.end(), [](int power) { return power != 0; });
  }
  int of(int value) { return nth(powers_, root(value)); }

 private:
  // Returns for each value whether it depends on a function's result above kMostMeant.
  static std::vector<bool> beyond_meaning(const Graph& graph, const std::vector<float>& largest) {
    std::vector<bool> beyond(graph.values.size(), false);
    if (largest.size() != beyond.size()) return beyond;  // nothing was measured
    for (const Node& node : graph.nodes) {
      const bool function = !changes_power(node) && !keeps_power(graph, node);
      nth(beyond, node.output) = (function && nth(largest, node.output) > kMostMeant) ||
                                 std::any_of(node.inputs.begin(), node.inputs.end(),
                                             [&](int value) { return nth(beyond, value); });
    }
    return beyond;
  }

  int root(int value) {
    while (nth(parents_, value) != value) {
      int& parent = nth(parents_, value);
      parent = nth(parents_, parent);
      value = parent;
    }
    return value;
  }
  void join(int a, int b) { nth(parents_, root(a)) = root(b); }
  void pin(int value) { nth(powers_, root(value)) = 0; }

  std::vector<int> parents_, powers_;
};

void scale(std::vector<float>* numbers, int power) {
  for (float& number : *numbers) number = std::ldexp(number, power);
}

// Restores the original values, each once.
class Restorer {
 public:
  Restorer(Graph* graph, Powers* powers) : graph_(graph), powers_(powers) {}

  // Returns the value itself, or the result of a new node that restores it.
  int restored(int value, std::vector<Node>* nodes) {
    const int power = powers_->of(value);
    if (power == 0) return value;
    const auto [it, fresh] = restored_.emplace(value, -1);
    if (!fresh) return it->second;
    const Value& from = nth(graph_->values, value);
    Node node;
    node.op = Op::kCpu;
    node.name = from.name + "_restored";
    node.layers = {node.name};
    node.inputs = {value};
    node.why = "values beyond 16 bits are kept as a power of two of what they are";
    auto layer = layers::ElementwiseAttributes::of(kernels::Curve::kLine, std::ldexp(1.0f, power));
    layer.wide = true;
    node.set_layer(std::move(layer));
    node.output = graph_->add_value(node.name, Shape(from.shape));
    it->second = node.output;
    nodes->push_back(std::move(node));
    return it->second;
  }

 private:
  Graph* graph_;
  Powers* powers_;
  std::map<int, int> restored_;
};

}  // namespace

int rescale(Graph* graph, const std::vector<float>& largest) {
  Powers powers(*graph);
  powers.choose(*graph, largest);
  if (!powers.any()) return 0;
  const size_t known = graph->values.size();
  int kept = 0;
  for (size_t i = 0; i < known; ++i) kept += powers.of(static_cast<int>(i)) != 0;
  Restorer restorer(graph, &powers);
  std::vector<Node> nodes;
  for (Node& node : graph->nodes) {
    if (changes_power(node)) {
      const int out = powers.of(node.output);
      scale(&node.weights, powers.of(node.inputs[0]) - out);
      scale(&node.bias, -out);
    } else if (!keeps_power(*graph, node)) {
      for (int& value : node.inputs) value = restorer.restored(value, &nodes);
    }
    nodes.push_back(std::move(node));
  }
  for (int& value : graph->outputs) value = restorer.restored(value, &nodes);
  graph->nodes = std::move(nodes);
  return kept;
}

}  // namespace dvnn::plan
