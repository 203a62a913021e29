// SPDX-License-Identifier: Apache-2.0
// Exporters before opset 17 write LayerNormalization as the steps of its definition, and Keras as a
// line through each element, x * g + (beta - mean * g). Together the steps are one layer, which
// follows tokens in the device's layout.
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

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
    if (node && node->op == Op::kAdd && operation == Operation::kAdd) {
      return Pair(node->inputs[0], node->inputs[1]);
    }
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
    if (!parts || !is_mean(parts->second, parts->first, along)) return std::nullopt;
    return parts->first;
  }

  bool is_mean(int value, int of, const ReduceAttributes& along) const {
    const ReduceAttributes* layer = mean(value);
    return layer && layer->axes == along.axes && made(value)->inputs[0] == of;
  }

  // Returns the value whose variance this is, and along which axes: the mean of the squares of
  // what is centred, or the mean of squares less the square of the mean.
  std::optional<Squares> variance(int value) const {
    if (const auto under = squares(value)) {
      const auto parts = operands(made(under->of), Operation::kSub);
      if (!parts) return std::nullopt;
      // The sign of the difference does not matter.
      for (const auto& [whole, middle] : {*parts, Pair(parts->second, parts->first)}) {
        if (is_mean(middle, whole, *under->mean)) return Squares{whole, under->mean};
      }
      return std::nullopt;
    }
    const auto parts = operands(made(value), Operation::kSub);
    const auto all = parts ? squares(parts->first) : std::nullopt;
    if (!all) return std::nullopt;
    const auto square = operands(made(parts->second), Operation::kMul);
    const auto power = operands(made(parts->second), Operation::kPow);
    const bool squared =
        (square && square->first == square->second) || (power && number(power->second) == 2.0f);
    const int root = square ? square->first : power ? power->first : -1;
    if (!squared || !is_mean(root, all->of, *all->mean)) return std::nullopt;
    return all;
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

  // x * factor, or -x * factor: both operands, and the sign.
  struct Scaled {
    int x, factor;
    bool negative;
  };

  // Calls take(scaled) for each way to read a value as a product, until one is taken.
  template <typename Take>
  bool products(int value, Take take) const {
    const auto parts = operands(made(value), Operation::kMul);
    if (!parts) return false;
    for (const auto& [x, factor] : {*parts, Pair(parts->second, parts->first)}) {
      const Node* node = made(x);
      const auto line = node ? line_of(*node) : std::nullopt;
      const bool negative = line && line->first == -1 && line->second == 0;
      if (take(Scaled{negative ? node->inputs[0] : x, factor, negative})) return true;
    }
    return false;
  }

  // A normalisation as a line: of which value, by which layer, and then multiplied by the value
  // `factor`, and added to the value `sum` (-1: not), or to a number for each channel.
  struct Line {
    int of;
    layers::StandardizeAttributes layer;
    int factor = -1, sum = -1;
    std::vector<float> numbers;
  };

  // Reads 1 / root(variance + epsilon), perhaps multiplied by something that is known.
  std::optional<Line> factor_of(int value) const {
    const auto root_of = [&](int root, int factor) -> std::optional<Line> {
      const auto under = inverse_root(root);
      const auto above = under ? with_epsilon(*under) : std::nullopt;
      const auto spread = above && above->second >= 0 ? variance(above->first) : std::nullopt;
      if (!spread) return std::nullopt;
      return Line{spread->of, {spread->mean->axes, above->second, true}, factor, -1, {}};
    };
    if (const auto plain = root_of(value, -1)) return plain;
    const auto parts = operands(made(value), Operation::kMul);
    if (!parts) return std::nullopt;
    const auto first = root_of(parts->first, parts->second);
    return first ? first : root_of(parts->second, parts->first);
  }

  // Returns the normalisation of which `scaled` is the part of each element, and `shift` that of
  // the mean: shift = sum - mean * factor, or -mean * factor.
  std::optional<Line> line_through(const Scaled& scaled, int shift) const {
    if (scaled.negative) return std::nullopt;
    auto line = factor_of(scaled.factor);
    if (!line || line->of != scaled.x) return std::nullopt;
    const ReduceAttributes along = {layers::Reduction::kMean, line->layer.axes, true};
    const auto takes_mean = [&](int value, bool negative) {
      return products(value, [&](const Scaled& part) {
        return part.factor == scaled.factor && part.negative == negative &&
               is_mean(part.x, scaled.x, along);
      });
    };
    if (takes_mean(shift, true)) return line;
    const Node* affine = made(shift);
    if (affine && affine->op == Op::kAffine) {
      const float sign = affine->weights[0];
      const bool same = std::all_of(affine->weights.begin(), affine->weights.end(),
                                    [sign](float weight) { return weight == sign; });
      if (!same || std::abs(sign) != 1 || !takes_mean(affine->inputs[0], sign > 0)) {
        return std::nullopt;
      }
      line->numbers = affine->bias;
      return line;
    }
    const auto difference = operands(made(shift), Operation::kSub);
    if (difference && takes_mean(difference->second, false)) {
      line->sum = difference->first;
      return line;
    }
    const auto sum = operands(made(shift), Operation::kAdd);
    if (!sum) return std::nullopt;
    for (const auto& [part, other] : {*sum, Pair(sum->second, sum->first)}) {
      if (!takes_mean(part, true)) continue;
      line->sum = other;
      return line;
    }
    return std::nullopt;
  }

  // Replaces a line through each element. Returns false if the node is none.
  bool replace_line(size_t index) {
    const auto sum = operands(&rewriter_.node(index), Operation::kAdd);
    if (!sum) return false;
    std::optional<Line> line;
    for (const auto& [first, shift] : {*sum, Pair(sum->second, sum->first)}) {
      const int other = shift;
      products(first, [&](const Scaled& scaled) {
        line = line_through(scaled, other);
        return line.has_value();
      });
      if (line) break;
    }
    const Shape shape = graph_.shape_of(rewriter_.node(index).output);
    if (!line || graph_.shape_of(line->of) != shape) return false;
    if (replace_by_affine(index, *line)) return true;
    // The last of up to three layers takes the node's place.
    if (!line->numbers.empty()) {
      const Shape numbers = {1, shape.c(), 1, 1};
      line->sum =
          add(index, layers::ConstantAttributes{line->numbers, numbers}, {}, "_sum", numbers);
    }
    layers::LayerAttributes layer = line->layer;
    std::vector<int> inputs = {line->of};
    const char* suffix = "_standard";
    for (const auto& [operation, operand] :
         {std::pair(Operation::kMul, line->factor), std::pair(Operation::kAdd, line->sum)}) {
      if (operand < 0) continue;
      const int before = add(index, std::move(layer), std::move(inputs), suffix, shape);
      suffix = "_scaled";
      layer = ElementwiseAttributes::of(operation);
      inputs = {before, operand};
    }
    rewriter_.change(index, [&](Node* node) { become(node, std::move(layer), std::move(inputs)); });
    return true;
  }

  // Replaces a line through the channels of a picture by the layer and an affine one, which may go
  // into a convolution. Returns false if it is another line.
  bool replace_by_affine(size_t index, const Line& line) {
    const Shape shape = graph_.shape_of(rewriter_.node(index).output);
    if (shape.rank != 4 || shape.n() != 1 || line.layer.axes != std::vector<int>{1}) return false;
    const auto of_channels = [&](int value, float none) {
      if (value < 0) return std::vector<float>(shape.channels(), none);
      const Node* node = made(value);
      const auto* known = node ? node->layer<layers::ConstantAttributes>() : nullptr;
      const bool each = known && known->values.size() == shape.channels() &&
                        graph_.shape_of(value).rank >= 3 &&
                        graph_.shape_of(value)[graph_.shape_of(value).rank - 3] == shape.c();
      return each ? known->values : std::vector<float>();
    };
    Node affine;
    affine.op = Op::kAffine;
    affine.weights = of_channels(line.factor, 1);
    affine.bias = line.numbers.empty() ? of_channels(line.sum, 0) : line.numbers;
    if (affine.weights.empty() || affine.bias.empty()) return false;
    affine.name = rewriter_.node(index).name;
    affine.layers = rewriter_.node(index).layers;
    affine.output = rewriter_.node(index).output;
    affine.inputs = {add(index, line.layer, {line.of}, "_standard", shape)};
    rewriter_.replace(index, std::move(affine));
    return true;
  }

  int add(size_t index, layers::LayerAttributes layer, std::vector<int> inputs, const char* suffix,
          const Shape& shape) {
    Node node;
    node.op = Op::kCpu;
    node.name = rewriter_.node(index).name + suffix;
    node.layers = rewriter_.node(index).layers;
    node.inputs = std::move(inputs);
    node.set_layer(std::move(layer));
    node.output = rewriter_.add_value(node.name, shape);
    const int value = node.output;
    rewriter_.insert_before(index, std::move(node));
    return value;
  }

  void replace(size_t index) {
    if (replace_line(index)) return;
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
