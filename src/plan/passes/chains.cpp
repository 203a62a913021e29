// SPDX-License-Identifier: Apache-2.0
// Fuses consecutive elementwise functions on the CPU into one step: SiLU, hard-swish, gates, and
// the sums and products around them. An operation that the device could do before is included,
// unless a convolution does it at no cost: a command for one function costs more than the function,
// and rounds its result.
#include <algorithm>
#include <optional>
#include <set>

#include "base/nth.h"
#include "layers/loops/spans.h"
#include "plan/passes/passes.h"
#include "plan/passes/rewriter.h"

namespace dvnn::plan {
namespace {

using kernels::Curve;
using kernels::Operation;
using layers::ElementwiseAttributes;

// An operand of a step: one of the chain's inputs, constants or results.
struct Operand {
  enum Kind { kInput, kConstant, kResult } kind;
  int index;
};

bool fits(const Shape& shape, const Shape& whole) {
  return shape == whole || shape.elements() == 1 || layers::is_per_channel(shape, whole);
}

// Builds a chain node by node.
class Chain {
 public:
  explicit Chain(const Rewriter* rewriter, const Graph& graph, int output)
      : rewriter_(*rewriter), graph_(graph), whole_(graph.shape_of(output)) {}

  void add(const Node& node) { results_.emplace_back(node.output, result_of(node)); }
  std::vector<int> inputs() const { return inputs_; }

  // Returns the layer; null if the chain exceeds a layer's limits.
  std::optional<ElementwiseAttributes> finish() {
    if (inputs_.empty() || steps_.empty() || inputs_.size() > ElementwiseAttributes::kMostInputs ||
        steps_.size() > ElementwiseAttributes::kMostSteps ||
        constants_.size() > ElementwiseAttributes::kMostConstants ||
        inputs_.size() + constants_.size() + steps_.size() > ElementwiseAttributes::kMostValues) {
      return std::nullopt;
    }
    put_whole_input_first();
    if (graph_.shape_of(inputs_[0]) != whole_) return std::nullopt;
    ElementwiseAttributes made;
    made.inputs = static_cast<int>(inputs_.size());
    made.constants = constants_;
    for (const Made& step : steps_) {
      made.steps.push_back(step.step);
      made.steps.back().x = number_of(step.x);
      made.steps.back().y = number_of(step.y);
    }
    return made;
  }

 private:
  using Step = ElementwiseAttributes::Step;
  struct Made {
    Step step;
    Operand x, y;
  };

  int number_of(Operand operand) const {
    const int inputs = static_cast<int>(inputs_.size());
    switch (operand.kind) {
      case Operand::kInput:
        return operand.index;
      case Operand::kConstant:
        return inputs + operand.index;
      case Operand::kResult:
        return inputs + static_cast<int>(constants_.size()) + operand.index;
    }
    return 0;
  }

  // The layer's result has the shape of its first input.
  void put_whole_input_first() {
    const auto whole = std::find_if(inputs_.begin(), inputs_.end(),
                                    [this](int v) { return graph_.shape_of(v) == whole_; });
    if (whole == inputs_.end() || whole == inputs_.begin()) return;
    const int index = static_cast<int>(whole - inputs_.begin());
    std::swap(inputs_[0], *whole);
    auto renumber = [index](Operand* operand) {
      if (operand->kind != Operand::kInput) return;
      operand->index = operand->index == 0 ? index : operand->index == index ? 0 : operand->index;
    };
    for (Made& step : steps_) {
      renumber(&step.x);
      renumber(&step.y);
    }
  }

  Operand operand(int value) {
    for (const auto& [made, result] : results_) {
      if (made == value) return result;
    }
    if (const auto* constant = constant_of(value)) return constant_operand(constant->values);
    const auto known = std::find(inputs_.begin(), inputs_.end(), value);
    const int index = static_cast<int>(known - inputs_.begin());
    if (known == inputs_.end()) inputs_.push_back(value);
    return {Operand::kInput, index};
  }

  const layers::ConstantAttributes* constant_of(int value) const {
    const int producer = rewriter_.producer(value);
    if (producer < 0 || graph_.shape_of(value) == whole_) return nullptr;
    return nth(graph_.nodes, producer).layer<layers::ConstantAttributes>();
  }

  Operand constant_operand(std::vector<float> values) {
    constants_.push_back(std::move(values));
    return {Operand::kConstant, static_cast<int>(constants_.size()) - 1};
  }

  Operand curve(Curve curve, float a, float b, Operand x) {
    return add({Step::of(curve, a, b, 0), x, x});
  }

  Operand combine(Operation operation, Operand x, Operand y) {
    return add({Step::of(operation, 0, 0), x, y});
  }

  Operand add(const Made& step) {
    steps_.push_back(step);
    return {Operand::kResult, static_cast<int>(steps_.size()) - 1};
  }

  Operand affine(const std::vector<float>& scale, const std::vector<float>& bias, Operand x) {
    const auto all = [](const std::vector<float>& values, float fallback) -> std::optional<float> {
      if (values.empty()) return fallback;
      const bool same = std::all_of(values.begin(), values.end(),
                                    [&](float value) { return value == values[0]; });
      return same ? std::optional<float>(values[0]) : std::nullopt;
    };
    const auto a = all(scale, 1), b = all(bias, 0);
    if (a && b) return curve(Curve::kLine, *a, *b, x);
    if (!a || *a != 1) x = combine(Operation::kMul, x, constant_operand(scale));
    if (!b || *b != 0) x = combine(Operation::kAdd, x, constant_operand(bias));
    return x;
  }

  // Adds the layer's steps with the chain's operands.
  Operand steps_of(const ElementwiseAttributes& layer, const std::vector<int>& inputs) {
    std::vector<Operand> operands;
    for (int value : inputs) operands.push_back(operand(value));
    for (const auto& values : layer.constants) operands.push_back(constant_operand(values));
    for (const Step& step : layer.steps) {
      operands.push_back(add({step, nth(operands, step.x), nth(operands, step.y)}));
    }
    return operands.back();
  }

  Operand result_of(const Node& node) {
    switch (node.op) {
      case Op::kAffine:
        return affine(node.weights, node.bias, operand(node.inputs[0]));
      case Op::kActivation:
        return steps_of(activation_layer(node), node.inputs);
      case Op::kAdd:
        return steps_of(ElementwiseAttributes::of(Operation::kAdd), node.inputs);
      default:
        return steps_of(*node.layer<ElementwiseAttributes>(), node.inputs);
    }
  }

  const Rewriter& rewriter_;
  const Graph& graph_;
  Shape whole_;
  std::vector<int> inputs_;  // values
  std::vector<std::vector<float>> constants_;
  std::vector<Made> steps_;
  std::vector<std::pair<int, Operand>> results_;  // by value
};

class ChainFinder {
 public:
  explicit ChainFinder(Graph* graph)
      : graph_(*graph), rewriter_(graph), taken_(graph->nodes.size()), free_(graph->nodes.size()) {
    for (size_t i = 0; i < graph->nodes.size(); ++i) {
      for (int value : graph->nodes[i].inputs) readers_[value].insert(i);
      free_[i] = follows_convolution(graph->nodes[i]);
    }
  }

  void run() {
    // Walk from the end, so that a chain is found from its last node on.
    for (size_t i = rewriter_.count(); i-- > 0;) {
      if (!taken_[i] && is_for_cpu(rewriter_.node(i))) join(i);
    }
    rewriter_.finish();
  }

 private:
  // Returns whether a node is an elementwise function that only the CPU computes, and whose result
  // may be binary16.
  bool is_for_cpu(const Node& node) const { return is_function(node) && !is_wide(node); }

  static bool is_wide(const Node& node) {
    const auto* layer = node.layer<ElementwiseAttributes>();
    return layer && layer->wide;
  }

  bool is_function(const Node& node) const {
    if (node.dead || node.op != Op::kCpu || node.inputs.empty()) return false;
    const Shape& whole = graph_.shape_of(node.output);
    for (int value : node.inputs) {
      if (!fits(graph_.shape_of(value), whole)) return false;
    }
    const auto* layer = node.layer<ElementwiseAttributes>();
    return layer && std::all_of(layer->steps.begin(), layer->steps.end(), [](const auto& step) {
             return step.combines ? is_vectored(step.operation) : is_vectored(step.curve);
           });
  }

  // Within a chain, all values are floats.
  bool is_elementwise(const Node& node) const {
    if (node.dead) return false;
    return node.op == Op::kAffine || node.op == Op::kActivation || node.op == Op::kAdd ||
           is_function(node);
  }

  // Returns whether a convolution does it in its own command, perhaps after another such operation.
  bool follows_convolution(const Node& node) const {
    if (node.op != Op::kActivation && node.op != Op::kAdd) return false;
    return std::any_of(node.inputs.begin(), node.inputs.end(), [this](int value) {
      const int producer = rewriter_.sole_producer(value);
      if (producer < 0) return false;
      const auto before = static_cast<size_t>(producer);
      return graph_.nodes[before].op == Op::kConvolution || free_[before];
    });
  }

  void join(size_t index) {
    size_t last = index;
    for (auto next = reader_to_join(last); next; next = reader_to_join(last)) last = *next;
    const Shape& whole = graph_.shape_of(graph_.nodes[last].output);
    std::set<size_t> members = {last};
    for (bool grown = true; grown && members.size() < ElementwiseAttributes::kMostSteps;) {
      grown = false;
      for (size_t member : std::set<size_t>(members)) {
        for (int value : graph_.nodes[member].inputs) {
          const int producer = rewriter_.producer(value);
          if (producer < 0) continue;
          const auto before = static_cast<size_t>(producer);
          if (members.count(before) > 0 || graph_.shape_of(value) != whole || !may_join(before) ||
              free_[before] || !read_by_all(members, value)) {
            continue;
          }
          members.insert(before);
          grown = true;
        }
      }
    }
    make_chain(members, last);
  }

  bool may_join(size_t index) const {
    const Node& node = graph_.nodes[index];
    return !taken_[index] && !rewriter_.is_output(node.output) && is_elementwise(node);
  }

  bool read_by_all(const std::set<size_t>& members, int value) const {
    const auto& readers = readers_.at(value);
    return std::includes(members.begin(), members.end(), readers.begin(), readers.end());
  }

  // Returns the only reader of the node's result, if it can be part of the chain.
  std::optional<size_t> reader_to_join(size_t index) const {
    const Node& node = graph_.nodes[index];
    const auto readers = readers_.find(node.output);
    if (rewriter_.is_output(node.output) || readers == readers_.end() ||
        readers->second.size() != 1) {
      return std::nullopt;
    }
    const size_t reader = *readers->second.begin();
    const Node& next = graph_.nodes[reader];
    if (taken_[reader] || !is_elementwise(next) || is_wide(next) || free_[reader] ||
        graph_.shape_of(next.output) != graph_.shape_of(node.output)) {
      return std::nullopt;
    }
    return reader;
  }

  void make_chain(const std::set<size_t>& members, size_t last) {
    Chain chain(&rewriter_, graph_, graph_.nodes[last].output);
    for (size_t member : members) chain.add(graph_.nodes[member]);
    auto layer = chain.finish();
    if (!layer) return;
    Node made;
    made.op = Op::kCpu;
    made.name = graph_.nodes[last].name;
    made.output = graph_.nodes[last].output;
    made.inputs = chain.inputs();
    for (size_t member : members) {
      const auto& layers = graph_.nodes[member].layers;
      made.layers.insert(made.layers.end(), layers.begin(), layers.end());
      taken_[member] = true;
      if (member != last) rewriter_.take(member);
    }
    made.set_layer(std::move(*layer));
    made.as<CpuLayer>()->in_chunks = true;
    rewriter_.replace(last, std::move(made));
  }

  Graph& graph_;
  Rewriter rewriter_;
  std::vector<bool> taken_, free_;  // by node: part of a chain; done by a convolution at no cost
  std::unordered_map<int, std::set<size_t>> readers_;  // by value: the nodes that read it
};

}  // namespace

void fuse_elementwise(Graph* graph) {
  ChainFinder(graph).run();
}

}  // namespace dvnn::plan
