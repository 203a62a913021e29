// SPDX-License-Identifier: Apache-2.0
// Exporters before opset 17 write LayerNormalization as the steps of its definition. Together they
// are one layer, which follows tokens in the device's layout.
#include <optional>
#include <utility>

#include "plan/passes/attention.h"
#include "plan/passes/passes.h"
#include "plan/passes/token_pictures.h"

namespace dvnn::plan {
namespace {

using kernels::Curve;
using kernels::Operation;
using layers::ElementwiseAttributes;
using layers::ReduceAttributes;
using Pair = std::pair<int, int>;

class StandardFinder {
 public:
  explicit StandardFinder(Graph* graph) : graph_(*graph), rewriter_(graph) {}

  void run() {
    for (size_t i = 0; i < rewriter_.count(); ++i) replace(i);
    rewriter_.finish();
    remove_unused(&graph_);
  }

 private:
  // The mean of a value's squares: whose, and along which axes.
  struct Squares {
    int of;
    const ReduceAttributes* mean;
  };

  const Node* made(int value) const {
    const int producer = rewriter_.producer(value);
    return producer < 0 ? nullptr : &nth(graph_.nodes, producer);
  }

  // Returns the one step of a layer that has no other, or null.
  static const ElementwiseAttributes::Step* step_of(const Node* node) {
    const auto* layer = node ? node->layer<ElementwiseAttributes>() : nullptr;
    const bool one = layer && layer->steps.size() == 1 && layer->constants.empty();
    return one ? &layer->steps[0] : nullptr;
  }

  std::optional<Pair> operands(const Node* node, Operation operation) const {
    const auto* step = step_of(node);
    if (!step || !step->combines || step->operation != operation) return std::nullopt;
    return Pair(nth(node->inputs, step->x), nth(node->inputs, step->y));
  }

  std::optional<int> operand(int value, Curve curve) const {
    const Node* node = made(value);
    const auto* step = step_of(node);
    if (!step || step->combines || step->curve != curve) return std::nullopt;
    return node->inputs[0];
  }

  std::optional<float> number(int value) const {
    const Node* node = made(value);
    const auto* known = node ? node->layer<layers::ConstantAttributes>() : nullptr;
    if (!known || known->values.size() != 1) return std::nullopt;
    return known->values[0];
  }

  const ReduceAttributes* mean(int value) const {
    const Node* node = made(value);
    const auto* layer = node ? node->layer<ReduceAttributes>() : nullptr;
    return layer && layer->operation == layers::Reduction::kMean && layer->keep ? layer : nullptr;
  }

  std::optional<Squares> squares(int value) const {
    const ReduceAttributes* layer = mean(value);
    if (!layer) return std::nullopt;
    const Node* inner = made(made(value)->inputs[0]);
    if (const auto power = operands(inner, Operation::kPow)) {
      if (number(power->second) == 2.0f) return Squares{power->first, layer};
    }
    const auto product = operands(inner, Operation::kMul);
    if (product && product->first == product->second) return Squares{product->first, layer};
    return std::nullopt;
  }

  // Returns the value whose root the node's first operand is divided by: the operand and the value.
  std::optional<Pair> quotient(const Node& node) const {
    if (const auto parts = operands(&node, Operation::kDiv)) {
      const auto root = operand(parts->second, Curve::kSqrt);
      if (root) return Pair(parts->first, *root);
    }
    const auto parts = operands(&node, Operation::kMul);
    if (!parts) return std::nullopt;
    for (const auto& [first, second] : {*parts, Pair(parts->second, parts->first)}) {
      if (const auto under = inverse_root(second)) return Pair(first, *under);
    }
    return std::nullopt;
  }

  std::optional<int> inverse_root(int value) const {
    if (const auto root = operand(value, Curve::kReciprocal)) return operand(*root, Curve::kSqrt);
    const auto parts = operands(made(value), Operation::kDiv);
    if (!parts || number(parts->first) != 1.0f) return std::nullopt;
    return operand(parts->second, Curve::kSqrt);
  }

  // Returns whether the value is `x` less its mean along these axes.
  std::optional<int> centred(int value, const ReduceAttributes& along) const {
    const auto parts = operands(made(value), Operation::kSub);
    if (!parts) return std::nullopt;
    const ReduceAttributes* layer = mean(parts->second);
    if (!layer || layer->axes != along.axes) return std::nullopt;
    if (made(parts->second)->inputs[0] != parts->first) return std::nullopt;
    return parts->first;
  }

  // Returns the value to which a number is added, and the number.
  std::optional<std::pair<int, float>> with_epsilon(int value) const {
    const Node* node = made(value);
    if (const auto line = node ? line_of(*node) : std::nullopt) {
      if (line->first != 1) return std::nullopt;
      return std::pair(node->inputs[0], line->second);
    }
    const auto sum = operands(node, Operation::kAdd);
    if (!sum) return std::nullopt;
    if (const auto known = number(sum->second)) return std::pair(sum->first, *known);
    if (const auto known = number(sum->first)) return std::pair(sum->second, *known);
    return std::nullopt;
  }

  void replace(size_t index) {
    const auto parts = quotient(rewriter_.node(index));
    if (!parts) return;
    const auto above = with_epsilon(parts->second);
    if (!above || above->second < 0) return;
    const float epsilon = above->second;
    const auto under = squares(above->first);
    if (!under) return;
    const auto whole = centred(parts->first, *under->mean);
    // The same difference may have been computed twice.
    const bool centres = whole && centred(under->of, *under->mean) == whole;
    if (!centres && under->of != parts->first) return;
    const int from = centres ? *whole : parts->first;
    const layers::StandardizeAttributes layer = {under->mean->axes, epsilon, centres};
    if (graph_.shape_of(from) != graph_.shape_of(rewriter_.node(index).output)) return;
    rewriter_.change(index, [&](Node* node) { become(node, layer, {from}); });
  }

  Graph& graph_;
  Rewriter rewriter_;
};

}  // namespace

void find_standards(Graph* graph) {
  StandardFinder(graph).run();
}

}  // namespace dvnn::plan
