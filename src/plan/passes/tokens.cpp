// SPDX-License-Identifier: Apache-2.0
// Turns sequences of tokens into pictures of one row, because products with known matrices are 1x1
// convolutions there, which the device computes. Operations on single tokens between such products
// follow, so that values stay in the device's layout from one product to the next. A value is
// turned back into a sequence only if a node still reads it as one.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_set>

#include "base/nth.h"
#include "device/limits.h"
#include "plan/passes/attention.h"
#include "plan/passes/passes.h"
#include "plan/passes/quantise.h"
#include "plan/passes/token_pictures.h"
#include "tensor/half.h"

namespace dvnn::plan {
namespace {

using kernels::Operation;
using layers::ConstantAttributes;
using layers::ElementwiseAttributes;

// Returns whether weights have few enough distinct values for the device to store them as bytes.
bool have_few_values(const std::vector<float>& weights) {
  std::vector<half_t> halves(weights.size());
  float_to_half(weights.data(), halves.data(), weights.size());
  return are_bytes(halves);
}

// Returns whether the device can multiply by these numbers, and add them: steps of 16 bits that a
// model divides by may be too small.
bool fit_half(const std::vector<float>& numbers) {
  constexpr float kLargest = 65504;  // of binary16
  return std::all_of(numbers.begin(), numbers.end(),
                     [](float number) { return std::abs(number) <= kLargest; });
}

class TokenTurner {
 public:
  TokenTurner(Graph* graph, const device::Limits& limits)
      : graph_(*graph),
        rewriter_(graph),
        limits_(limits),
        pictures_(&rewriter_),
        orders_(&rewriter_, graph, &pictures_),
        attention_(&rewriter_, &pictures_) {}

  Status run() {
    find_wanted();
    for (size_t i = 0; i < rewriter_.count(); ++i) {
      DVNN_TRY(rewriter_.check_size());
      if (!rewriter_.node(i).dead) follow(i);
    }
    rewriter_.finish();
    return {};
  }

 private:
  void follow(size_t index) {
    const bool moves = orders_.follow(rewriter_.node(index));
    attention_.view(index);
    const Node& node = rewriter_.node(index);
    const auto known = pictures_.ordered(node.output);
    if (known && is_attention(known->picture)) made_.insert(known->picture);
    if (moves || orders_.finish_pixels(index)) return;
    if (node.layer<layers::MatMulAttributes>()) {
      if (!attention_.follow_product(index)) follow_product(index);
      return;
    }
    attention_.follow_products(index);
    follow_other(index);
  }

  void follow_other(size_t index) {
    const Node& node = rewriter_.node(index);
    if (node.layer<layers::PermuteAttributes>()) return follow_permute(index);
    const bool of_product = std::any_of(node.inputs.begin(), node.inputs.end(), [this](int value) {
      const auto own = pictures_.ordered(value);
      return own && made_.count(own->picture) > 0;
    });
    // A value that neither comes from a product nor goes into one would only be rounded to 16 bits.
    if (!of_product && !nth(wanted_, node.output)) return;
    const int out = node.output;
    follow_by_token(index);
    if (const auto own = pictures_.ordered(out); own && of_product) made_.insert(own->picture);
  }

  bool is_attention(int value) const {
    const int producer = rewriter_.producer(value);
    return producer >= 0 && nth(graph_.nodes, producer).layer<layers::AttentionAttributes>();
  }

  // Follows a node that works on each token by itself.
  void follow_by_token(size_t index) {
    const Node& node = rewriter_.node(index);
    if (node.layer<layers::StandardizeAttributes>()) return follow_standard(index);
    if (node.op == Op::kConcat) return follow_concat(index);
    if (node.op == Op::kActivation && node.slopes.empty()) return follow_activation(index);
    if (line_of(node)) return follow_line(index);
    if (node.op == Op::kAdd) return follow_sum(index);
    if (node.layer<ElementwiseAttributes>()) follow_elementwise(index);
  }

  // Finds the values from which inputs of products with known matrices are computed.
  void find_wanted() {
    wanted_.assign(graph_.values.size(), false);
    for (size_t i = rewriter_.count(); i-- > 0;) {
      const Node& node = rewriter_.node(i);
      if (node.layer<layers::MatMulAttributes>()) {
        if (pictures_.constant_of(node.inputs[1])) nth(wanted_, node.inputs[0]) = true;
        continue;
      }
      const bool passes_on =
          node.op == Op::kConcat || node.op == Op::kReshape || node.op == Op::kActivation ||
          node.op == Op::kAffine || node.op == Op::kAdd ||
          node.layer<layers::StandardizeAttributes>() || node.layer<layers::PermuteAttributes>() ||
          node.layer<layers::SliceAttributes>() || node.layer<layers::BorderAttributes>() ||
          node.layer<ElementwiseAttributes>();
      if (!passes_on || !nth(wanted_, node.output)) continue;
      for (int value : node.inputs) nth(wanted_, value) = true;
    }
  }

  // Returns numbers that apply to a sequence of shape `whole`: one for each channel, or one for
  // each element (`each`). Empty if their shape differs.
  std::optional<std::vector<float>> numbers_of(int value, const Shape& whole, bool* each) {
    const auto* constant = pictures_.constant_of(value);
    if (!constant) return std::nullopt;
    const Shape& shape = graph_.shape_of(value);
    *each = shape.elements() == whole.elements();
    const bool channels = shape.elements() == last_of(whole) && last_of(shape) == last_of(whole);
    if (shape.elements() != 1 && !channels && !*each) return std::nullopt;
    if (channels || shape.elements() == 1) *each = false;
    if (!*each) {
      std::vector<float> numbers = constant->values;
      numbers.resize(static_cast<size_t>(last_of(whole)), numbers[0]);
      return numbers;
    }
    const auto c = static_cast<size_t>(last_of(whole)), t = constant->values.size() / c;
    std::vector<float> numbers(constant->values.size());
    for (size_t i = 0; i < t; ++i) {
      for (size_t k = 0; k < c; ++k) numbers[k * t + i] = constant->values[i * c + k];
    }
    return numbers;
  }

  int add_constant(size_t index, std::vector<float> numbers, const Shape& shape,
                   const std::string& suffix) {
    return pictures_.add_layer(index, ConstantAttributes{std::move(numbers), shape}, {}, suffix,
                               shape);
  }

  void follow_product(size_t index) {
    const Node& node = rewriter_.node(index);
    const int first = node.inputs[0], second = node.inputs[1];
    const auto* matrix = pictures_.constant_of(second);
    const Shape shape = graph_.shape_of(first), known = graph_.shape_of(second);
    if (!matrix || pictures_.constant_of(first) || !is_sequence(shape)) return;
    const auto n = static_cast<size_t>(last_of(known)), k = matrix->values.size() / n;
    if (known.elements() != static_cast<int64_t>(k * n) ||
        static_cast<int64_t>(k) != last_of(shape) ||
        std::max(k, n) > static_cast<size_t>(limits_.channels)) {
      return;  // one matrix for each picture
    }
    Node conv;
    conv.op = Op::kConvolution;
    conv.run.conv = device::ConvKind::kConv;
    conv.run.m = static_cast<int>(n);
    conv.weights.resize(k * n);
    for (size_t i = 0; i < k; ++i) {
      for (size_t o = 0; o < n; ++o) conv.weights[o * k + i] = matrix->values[i * n + o];
    }
    conv.bias.assign(n, 0.0f);
    OrderedTokens tokens = pictures_.all_turned(index, first);
    conv.inputs = {tokens.picture};
    take_affine(&conv);
    const Shape in = graph_.shape_of(conv.inputs[0]);
    tokens.picture =
        pictures_.add(index, std::move(conv), "_product", {1, static_cast<int>(n), 1, in.w()});
    pictures_.finish(index, tokens);
    made_.insert(tokens.picture);
  }

  // Merges factors and sums of channels before a product into its weights.
  void take_affine(Node* conv) {
    for (;;) {
      const int before = rewriter_.producer(conv->inputs[0]);
      if (before < 0) return;
      const Node& affine = nth(graph_.nodes, before);
      if (affine.op != Op::kAffine) return;
      const int further = rewriter_.producer(affine.inputs[0]);
      // After a convolution, they go into the weights of that one.
      if (further >= 0 && nth(graph_.nodes, further).op == Op::kConvolution) return;
      // Weights that are bytes stay bytes if all channels have the same factor.
      const bool one_factor =
          std::all_of(affine.weights.begin(), affine.weights.end(),
                      [&](float factor) { return factor == affine.weights[0]; });
      if (!one_factor && have_few_values(conv->weights)) return;
      // A zero point stays: far from 0, products would cancel against a bias that is rounded, too.
      if (const auto line = line_of(affine); line && line->first == 1 && line->second != 0) return;
      const size_t k = affine.weights.size();
      for (size_t o = 0; o < conv->bias.size(); ++o) {
        double sum = static_cast<double>(conv->bias[o]);
        for (size_t i = 0; i < k; ++i) {
          float& weight = conv->weights[o * k + i];
          sum += static_cast<double>(weight) * static_cast<double>(affine.bias[i]);
          weight *= affine.weights[i];
        }
        conv->bias[o] = static_cast<float>(sum);
      }
      conv->inputs[0] = affine.inputs[0];
    }
  }

  // Follows tokens made from a picture's pixels, and a picture made from tokens.
  void follow_permute(size_t index) {
    const Node& node = rewriter_.node(index);
    const std::vector<int> order = node.layer<layers::PermuteAttributes>()->order;
    const int in = node.inputs[0];
    const Shape from = graph_.shape_of(in), to = graph_.shape_of(node.output);
    if (from.rank < 3 || from[0] != 1) return;
    std::vector<int> to_tokens(order.size()), to_pixels(order.size());
    std::iota(to_tokens.begin() + 1, to_tokens.end(), 2);  // 0 2 3 1
    to_tokens.back() = 1;
    std::iota(to_pixels.begin() + 1, to_pixels.end(), 0);  // 0 3 1 2
    to_pixels[1] = from.rank - 1;
    if (order == to_pixels && pictures_.ordered(in)) {
      const int made = pictures_.add_reshape(index, pictures_.turned(index, in), to, "_of_tokens");
      rewriter_.change(index, [&](Node* other) {
        become(other, reshape_to(to), {made});
        other->op = Op::kReshape;
      });
      return;
    }
    if (order != to_tokens) return orders_.follow_pixels(index);
    const int out = node.output;
    cut_patches(in);
    pictures_.set_picture(out, pictures_.add_reshape(index, in, picture_of(to), "_pixels"));
  }

  // Cuts patches that become tokens, if their kernel is larger than the device's and looks at each
  // patch once: their elements become channels of one pixel, for a kernel of 1 x 1. For inputs of
  // another size the tokens would differ, too.
  void cut_patches(int tokens) {
    int made = rewriter_.producer(tokens);
    if (made >= 0 && rewriter_.node(made).op == Op::kReshape) {
      made = rewriter_.producer(rewriter_.node(made).inputs[0]);
    }
    if (made < 0 || rewriter_.node(made).op != Op::kConvolution) return;
    const auto index = static_cast<size_t>(made);
    const Node& conv = rewriter_.node(index);
    const Shape in = graph_.shape_of(conv.inputs[0]);
    const int x = conv.run.kernel.x, y = conv.run.kernel.y;
    const device::Pad& pad = conv.run.conv_pad;
    const bool cuts = conv.run.conv == device::ConvKind::kConv && conv.groups == 1 &&
                      std::max(x, y) > limits_.kernel && conv.run.stride.x == x &&
                      conv.run.stride.y == y && conv.run.dilation.x == 1 &&
                      conv.run.dilation.y == 1 &&
                      pad.left + pad.right + pad.top + pad.bottom == 0 && in.w() % x == 0 &&
                      in.h() % y == 0 && int64_t{in.c()} * x * y <= limits_.channels;
    if (!cuts) return;
    const Shape apart = {1, in.c(), in.h() / y, y, in.w() / x, x};
    const int parts = pictures_.add_reshape(index, conv.inputs[0], apart, "_patches");
    const int ordered =
        pictures_.add_layer(index, layers::PermuteAttributes{{0, 1, 3, 5, 2, 4}}, {parts},
                            "_by_patch", {1, in.c(), y, x, apart[2], apart[4]});
    const int pixels = pictures_.add_reshape(
        index, ordered, {1, in.c() * x * y, apart[2], apart[4]}, "_as_channels");
    rewriter_.change(index, [pixels](Node* node) {
      node->inputs = {pixels};
      node->run.kernel = node->run.stride = {1, 1};
    });
  }

  void follow_standard(size_t index) {
    const Node& node = rewriter_.node(index);
    auto layer = *node.layer<layers::StandardizeAttributes>();
    const Shape shape = graph_.shape_of(node.output);
    if (!pictures_.ordered(node.inputs[0]) || layer.axes != std::vector<int>{shape.rank - 1}) {
      return;
    }
    OrderedTokens tokens = pictures_.all_turned(index, node.inputs[0]);
    layer.axes = {1};
    tokens.picture = pictures_.add_layer(index, layer, {tokens.picture}, "_pixels",
                                         graph_.shape_of(tokens.picture));
    pictures_.finish(index, tokens);
  }

  // Follows sequences that are joined one after the other.
  void follow_concat(size_t index) {
    const Node& node = rewriter_.node(index);
    const int axis = node.layer<layers::ConcatAttributes>()->axis;
    const Shape shape = graph_.shape_of(node.output);
    if (!is_sequence(shape) || axis == shape.rank - 1) return;
    for (int i = 0; i < axis; ++i) {
      if (shape[i] != 1) return;
    }
    const std::vector<int> inputs = node.inputs;
    const auto known = [this](int value) { return pictures_.ordered(value).has_value(); };
    if (std::none_of(inputs.begin(), inputs.end(), known)) return;
    std::vector<int> parts;
    for (int value : inputs) {
      bool each = true;
      const Shape own = graph_.shape_of(value);
      if (known(value)) {
        parts.push_back(pictures_.turned(index, value));
      } else if (auto numbers = numbers_of(value, own, &each); numbers) {
        parts.push_back(add_constant(index, std::move(*numbers), picture_of(own), "_known"));
      } else {
        parts.push_back(pictures_.turned(index, value));
      }
    }
    Node concat;
    concat.op = Op::kConcat;
    concat.inputs = std::move(parts);
    concat.set_layer(layers::ConcatAttributes{3});
    finish(index, std::move(concat), {-1}, picture_of(shape));
  }

  // Adds a node that computes the result's picture from tokens that lie as `tokens`, and makes it
  // the result.
  void finish(size_t index, Node node, OrderedTokens tokens, const Shape& shape) {
    tokens.picture = pictures_.add(index, std::move(node), "_pixels", shape);
    pictures_.finish(index, tokens);
  }

  void follow_activation(size_t index) {
    const int in = rewriter_.node(index).inputs[0];
    if (!pictures_.ordered(in)) return;
    const OrderedTokens tokens = pictures_.all_turned(index, in);
    Node activation = rewriter_.node(index);
    activation.inputs = {tokens.picture};
    finish(index, std::move(activation), tokens, graph_.shape_of(tokens.picture));
  }

  void follow_line(size_t index) {
    const Node& node = rewriter_.node(index);
    const auto line = line_of(node);
    if (!pictures_.ordered(node.inputs[0]) || !line) return;
    if (!fit_half({line->first, line->second})) return follow_elementwise(index);
    const OrderedTokens tokens = pictures_.all_turned(index, node.inputs[0]);
    const size_t channels = graph_.shape_of(tokens.picture).channels();
    Node affine;
    affine.op = Op::kAffine;
    affine.inputs = {tokens.picture};
    affine.weights.assign(channels, line->first);
    affine.bias.assign(channels, line->second);
    finish(index, std::move(affine), tokens, graph_.shape_of(tokens.picture));
  }

  // Follows a sum of two sequences in four dimensions, as those of Swin, (1, rows, columns,
  // channels).
  void follow_sum(size_t index) {
    const std::vector<int> inputs = rewriter_.node(index).inputs;
    if (!pictures_.ordered(inputs[0]) && !pictures_.ordered(inputs[1])) return;
    Node sum;
    sum.op = Op::kAdd;
    const OrderedTokens order = common_order(inputs);
    for (int value : inputs) sum.inputs.push_back(in_order(index, value, order));
    const Shape whole = picture_of(graph_.shape_of(rewriter_.node(index).output));
    finish(index, std::move(sum), order, whole);
  }

  // Returns how the tokens of all these values lie, if they lie alike; in their order otherwise.
  OrderedTokens common_order(const std::vector<int>& values) const {
    const OrderedTokens in_order = {-1};
    std::optional<OrderedTokens> common;
    for (int value : values) {
      if (pictures_.constant_of(value)) continue;
      const auto own = pictures_.ordered(value);
      if (!own || !own->are_all || (common && !own->lie_as(*common))) return in_order;
      common = own;
    }
    return common.value_or(in_order);
  }

  // Returns a picture of the value whose tokens lie as in `order`.
  int in_order(size_t index, int value, const OrderedTokens& order) {
    return order.places ? pictures_.ordered(value)->picture : pictures_.turned(index, value);
  }

  // Follows elementwise functions of sequences and known numbers.
  void follow_elementwise(size_t index) {
    const Node& node = rewriter_.node(index);
    const Shape shape = graph_.shape_of(node.output);
    const auto& layer = *node.layer<ElementwiseAttributes>();
    if (!is_sequence(shape) || layer.wide || !layer.constants.empty()) return;
    size_t pictures = 0, others = 0;
    const std::vector<int> inputs = node.inputs;
    for (int value : inputs) {
      bool each = false;
      if (numbers_of(value, shape, &each)) continue;
      if (graph_.shape_of(value) != shape) return;
      ++(pictures_.ordered(value) ? pictures : others);
    }
    if (pictures == 0 || others > 1) return;
    if (make_affine(index, shape)) return;
    const bool by_token = std::any_of(inputs.begin(), inputs.end(), [&](int value) {
      bool each = false;
      return numbers_of(value, shape, &each) && each;
    });
    const OrderedTokens order = by_token ? OrderedTokens{-1} : common_order(inputs);
    std::vector<int> operands;
    for (int value : inputs) {
      bool each = false;
      auto numbers = numbers_of(value, shape, &each);
      const Shape whole = picture_of(shape);
      const Shape own = each ? whole : Shape{1, whole.c(), 1, 1};
      operands.push_back(numbers ? add_constant(index, std::move(*numbers), own, "_known")
                                 : in_order(index, value, order));
    }
    Node made;
    made.op = Op::kCpu;
    made.inputs = operands;
    made.set_layer(*rewriter_.node(index).layer<ElementwiseAttributes>());
    const bool sums = is_sum(made) && std::all_of(inputs.begin(), inputs.end(), [&](int value) {
                        return graph_.shape_of(value) == shape && !pictures_.constant_of(value);
                      });
    if (sums) {
      made.op = Op::kAdd;
      made.attributes = {};
    }
    finish(index, std::move(made), order, picture_of(shape));
  }

  // Turns a sum or product with one number per channel into an affine layer, for convolutions.
  bool make_affine(size_t index, const Shape& shape) {
    const Node& node = rewriter_.node(index);
    const auto& layer = *node.layer<ElementwiseAttributes>();
    if (node.inputs.size() != 2 || layer.steps.size() != 1 || !layer.steps[0].combines ||
        layer.steps[0].x == layer.steps[0].y) {
      return false;
    }
    const Operation operation = layer.steps[0].operation;
    const bool known_first = pictures_.constant_of(node.inputs[0]) != nullptr;
    const int known = node.inputs[known_first ? 0 : 1], other = node.inputs[known_first ? 1 : 0];
    bool each = false;
    auto numbers = numbers_of(known, shape, &each);
    if (!numbers || each || !pictures_.ordered(other)) return false;
    const bool in_order = layer.steps[0].x == 0;
    const bool divides = operation == Operation::kDiv && known_first != in_order;
    const bool takes = operation == Operation::kSub && known_first != in_order;
    if (operation != Operation::kAdd && operation != Operation::kMul && !divides && !takes) {
      return false;
    }
    Node affine;
    affine.op = Op::kAffine;
    const size_t c = numbers->size();
    for (float& number : *numbers) number = divides ? 1 / number : takes ? -number : number;
    if (!fit_half(*numbers)) return false;
    const OrderedTokens tokens = pictures_.all_turned(index, other);
    affine.inputs = {tokens.picture};
    const bool scales = operation == Operation::kMul || divides;
    affine.weights = scales ? *numbers : std::vector<float>(c, 1.0f);
    affine.bias = scales ? std::vector<float>(c, 0.0f) : *numbers;
    finish(index, std::move(affine), tokens, picture_of(shape));
    return true;
  }

  Graph& graph_;
  Rewriter rewriter_;
  const device::Limits limits_;
  TokenPictures pictures_;
  TokenOrders orders_;
  AttentionFinder attention_;
  std::vector<bool> wanted_;      // by value: whether inputs of a product depend on it
  std::unordered_set<int> made_;  // pictures computed by products
};

}  // namespace

Status turn_tokens(Graph* graph, const device::Limits& limits) {
  DVNN_TRY(TokenTurner(graph, limits).run());
  remove_unused(graph);
  return {};
}

}  // namespace dvnn::plan
