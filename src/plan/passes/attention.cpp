// SPDX-License-Identifier: Apache-2.0
#include "plan/passes/attention.h"

#include <algorithm>

#include "base/nth.h"
#include "plan/graph/graph.h"

namespace dvnn::plan {

using kernels::Operation;
using layers::ElementwiseAttributes;

std::optional<std::pair<float, float>> line_of(const Node& node) {
  if (node.op == Op::kAffine) {
    const auto same = [](const std::vector<float>& numbers) {
      return std::all_of(numbers.begin(), numbers.end(),
                         [&](float number) { return number == numbers[0]; });
    };
    if (!same(node.weights) || !same(node.bias)) return std::nullopt;
    return std::pair(node.weights[0], node.bias[0]);
  }
  const auto* layer = node.layer<ElementwiseAttributes>();
  if (!layer || node.inputs.size() != 1 || layer->steps.size() != 1 || layer->wide ||
      layer->steps[0].combines || layer->steps[0].curve != kernels::Curve::kLine) {
    return std::nullopt;
  }
  return std::pair(layer->steps[0].a, layer->steps[0].b);
}

namespace {

std::vector<int> without_ones(const Shape& shape) {
  std::vector<int> dims;
  for (int i = 0; i < shape.rank; ++i) {
    if (shape[i] != 1 || i >= shape.rank - 2) dims.push_back(shape[i]);
  }
  return dims;
}

}  // namespace

// Returns the value as a view of a sequence that has a picture, perhaps of the whole one.
std::optional<AttentionFinder::View> AttentionFinder::view_of(int value) const {
  const auto it = views_.find(value);
  if (it != views_.end()) return it->second;
  const auto known = pictures_.ordered(value);
  if (!known || !known->are_all) return std::nullopt;
  View whole = {*known, 0, dims_of(graph_.shape_of(value)), {}, 1};
  whole.strides.assign(whole.dims.size(), 1);
  for (size_t i = whole.dims.size() - 1; i-- > 0;) {
    whole.strides[i] = whole.strides[i + 1] * whole.dims[i + 1];
  }
  return whole;
}

// Makes the result of a node that moves a view's elements another view.
void AttentionFinder::view(size_t index) {
  const Node& node = rewriter_.node(index);
  if (node.inputs.empty()) return;
  auto from = view_of(node.inputs[0]);
  if (!from && node.layer<ElementwiseAttributes>() && node.inputs.size() == 2) {
    from = view_of(node.inputs[1]);
  }
  if (!from || !moved(node, &*from)) return;
  views_[node.output] = *from;
  // A view of the whole sequence in its own order has the sequence's picture.
  const Shape picture = graph_.shape_of(from->tokens.picture);
  const Shape shape = graph_.shape_of(node.output);
  if (from->factor != 1 || from->offset != 0 || !is_sequence(shape) ||
      last_of(shape) != picture.c() || shape.elements() != picture.elements() ||
      pictures_.ordered(node.output)) {
    return;
  }
  int64_t stride = 1;
  for (size_t i = from->dims.size(); i-- > 0; stride *= from->dims[i]) {
    if (from->dims[i] > 1 && from->strides[i] != stride) return;
  }
  pictures_.set_tokens(node.output, from->tokens);
}

bool AttentionFinder::moved(const Node& node, View* view) const {
  const std::vector<int64_t> dims = dims_of(graph_.shape_of(node.output));
  if (const auto* permute = node.layer<layers::PermuteAttributes>()) {
    const View before = *view;
    for (size_t i = 0; i < dims.size(); ++i) {
      view->dims[i] = nth(before.dims, permute->order[i]);
      view->strides[i] = nth(before.strides, permute->order[i]);
    }
    return true;
  }
  if (const auto* slice = node.layer<layers::SliceAttributes>()) {
    for (size_t i = 0; i < dims.size(); ++i) {
      view->offset += slice->begin[i] * view->strides[i];
      view->strides[i] *= slice->step[i];
    }
    view->dims = dims;
    return true;
  }
  if (node.op == Op::kReshape) return split_axes(dims, view);
  const auto factor = factor_of(node);
  if (factor) view->factor *= *factor;
  return factor.has_value();
}

// Reshapes a view: splits axes, or joins axes that are contiguous. Returns false if strides prevent
// it.
bool AttentionFinder::split_axes(const std::vector<int64_t>& dims, View* view) {
  // Axes of more than one element, joined where they are contiguous.
  std::vector<int64_t> sizes, steps;
  for (size_t i = 0; i < view->dims.size(); ++i) {
    if (view->dims[i] == 1) continue;
    if (!sizes.empty() && steps.back() == view->strides[i] * view->dims[i]) {
      sizes.back() *= view->dims[i];
      steps.back() = view->strides[i];
    } else {
      sizes.push_back(view->dims[i]);
      steps.push_back(view->strides[i]);
    }
  }
  std::vector<int64_t> strides(dims.size(), 0);
  size_t at = sizes.size();
  int64_t left = 1, step = 0;  // rest and step of the axis that is being split
  for (size_t i = dims.size(); i-- > 0;) {
    if (dims[i] == 1) continue;
    if (left == 1) {
      if (at == 0) return false;
      left = sizes[--at];
      step = steps[at];
    }
    if (left % dims[i] != 0) return false;
    strides[i] = step;
    step *= dims[i];
    left /= dims[i];
  }
  view->dims = dims;
  view->strides = std::move(strides);
  return true;
}

// Returns the factor of a node that only multiplies a value by a number.
std::optional<float> AttentionFinder::factor_of(const Node& node) const {
  if (const auto line = line_of(node)) {
    if (line->second != 0) return std::nullopt;
    return line->first;
  }
  const auto* layer = node.layer<ElementwiseAttributes>();
  if (!layer || node.inputs.size() != 2 || layer->steps.size() != 1 || !layer->steps[0].combines ||
      layer->steps[0].x == layer->steps[0].y) {
    return std::nullopt;
  }
  const bool divides = layer->steps[0].operation == Operation::kDiv;
  if (!divides && layer->steps[0].operation != Operation::kMul) return std::nullopt;
  for (size_t i : {size_t{0}, size_t{1}}) {
    const auto* constant = pictures_.constant_of(node.inputs[i]);
    const bool in_place = !divides || static_cast<size_t>(layer->steps[0].y) == i;
    if (!constant || constant->values.size() != 1 || !in_place) continue;
    if (graph_.shape_of(node.inputs[1 - i]) != graph_.shape_of(node.output)) continue;
    const float number = constant->values[0];
    return divides ? 1 / number : number;
  }
  return std::nullopt;
}

// Follows a product: one of two views begins an attention, one of weights and a view ends it.
// Returns whether the node is part of one.
bool AttentionFinder::follow_product(size_t index) {
  const Node& node = rewriter_.node(index);
  const auto known = products_.find(node.inputs[0]);
  const auto first = view_of(node.inputs[0]), second = view_of(node.inputs[1]);
  if (known != products_.end() && known->second.weights && second) {
    return finish_attention(index, known->second, *second);
  }
  if (!first || !second || pictures_.constant_of(node.inputs[1])) return false;
  products_[node.output] = {*first, *second};
  return true;
}

// Follows factors, biases, reshapes, and the softmax of products.
void AttentionFinder::follow_products(size_t index) {
  const Node& node = rewriter_.node(index);
  const auto known = products_.find(node.inputs.empty() ? -1 : node.inputs[0]);
  if (known == products_.end()) return;
  Products now = known->second;
  const Shape shape = graph_.shape_of(node.output);
  const int out = node.output;
  if (now.weights) return;
  const auto* softmax = node.layer<layers::SoftmaxAttributes>();
  if (softmax && softmax->axis && *softmax->axis == shape.rank - 1) {
    now.weights = true;
  } else if (node.op == Op::kReshape) {
    // Only axes of one element may be added or removed before the matrices.
    const Shape from = graph_.shape_of(node.inputs[0]);
    if (without_ones(from) != without_ones(shape)) return;
  } else if (const auto factor = factor_of(node)) {
    if (now.bias >= 0) return;
    now.factor *= *factor;
  } else if (is_sum(node) && graph_.shape_of(node.inputs[0]) == shape) {
    int bias = node.inputs[1];
    Shape own = graph_.shape_of(bias);
    if (products_.count(bias) > 0 || now.factor == 0) return;
    if (own.rank > 4 && own[0] != 1) return;
    if (own.rank > 4 || own.rank < 4) bias = with_rank_4(index, bias);
    now.bias = now.bias < 0 ? bias : sum_of(index, now.bias, bias);
    if (now.bias < 0) return;
  } else {
    return;
  }
  products_[out] = now;
}

int AttentionFinder::with_rank_4(size_t index, int value) {
  const Shape own = graph_.shape_of(value);
  Shape shape = {1, 1, 1, 1};
  for (int i = 1; i <= std::min(own.rank, 4); ++i) shape[4 - i] = own[own.rank - i];
  if (shape.elements() != own.elements()) return -1;
  return pictures_.add_reshape(index, value, shape, "_bias");
}

// Returns the sum of two biases; -1 if their shapes do not fit.
int AttentionFinder::sum_of(size_t index, int a, int b) {
  if (a < 0 || b < 0) return -1;
  const Shape x = graph_.shape_of(a), y = graph_.shape_of(b);
  Shape shape = {1, 1, 1, 1};
  for (int i = 0; i < 4; ++i) {
    if (x[i] != y[i] && x[i] != 1 && y[i] != 1) return -1;
    shape[i] = std::max(x[i], y[i]);
  }
  return pictures_.add_layer(index, ElementwiseAttributes::of(Operation::kAdd), {a, b}, "_biases",
                             shape);
}

std::optional<AttentionFinder::Matrices> AttentionFinder::matrices_of(const View& view,
                                                                      int64_t channels) {
  const size_t rank = view.dims.size();
  if (rank < 2) return std::nullopt;
  Matrices m;
  m.rows = view.dims[rank - 2], m.columns = view.dims[rank - 1];
  m.row_step = view.strides[rank - 2], m.column_step = view.strides[rank - 1];
  for (size_t i = 0; i + 2 < rank; ++i) {
    if (view.dims[i] == 1) continue;
    // A step over whole tokens leads from sequence to sequence; others lead from head to head.
    const bool sequence = view.strides[i] % channels == 0;
    if ((sequence ? m.sequences : m.heads) != 1 || (sequence && m.heads != 1)) {
      return std::nullopt;
    }
    (sequence ? m.sequences : m.heads) = view.dims[i];
    (sequence ? m.sequence_step : m.head_step) = view.strides[i];
  }
  return m;
}

// Returns whether an axis has all tokens in order, sequence by sequence.
bool AttentionFinder::has_tokens(const Matrices& m, int64_t tokens, int64_t token_step,
                                 int64_t number_step, const Shape& picture, int64_t offset) {
  const int64_t channels = picture.c();
  return token_step == channels && number_step == 1 && offset < channels &&
         m.sequences * tokens == picture.w() &&
         (m.sequences == 1 || m.sequence_step == tokens * channels);
}

bool AttentionFinder::finish_attention(size_t index, const Products& products, const View& value) {
  const Shape q_picture = graph_.shape_of(products.query.tokens.picture);
  const Shape k_picture = graph_.shape_of(products.key.tokens.picture);
  const Shape v_picture = graph_.shape_of(value.tokens.picture);
  const auto q = matrices_of(products.query, q_picture.c());
  const auto k = matrices_of(products.key, k_picture.c());
  const auto v = matrices_of(value, v_picture.c());
  if (!q || !k || !v || value.factor != 1) return false;
  const bool fits =
      has_tokens(*q, q->rows, q->row_step, q->column_step, q_picture, products.query.offset) &&
      has_tokens(*k, k->columns, k->column_step, k->row_step, k_picture, products.key.offset) &&
      has_tokens(*v, v->rows, v->row_step, v->column_step, v_picture, value.offset) &&
      q->heads == k->heads && k->heads == v->heads && q->sequences == k->sequences &&
      k->sequences == v->sequences && products.query.tokens.lie_as(products.key.tokens) &&
      products.key.tokens.lie_as(value.tokens);
  if (!fits) return false;
  layers::AttentionAttributes layer;
  const auto number = [](int64_t n) { return static_cast<int>(n); };
  layer.sequences = number(q->sequences), layer.heads = number(q->heads);
  layer.size = number(q->columns), layer.value_size = number(v->columns);
  layer.scale = products.factor * products.query.factor * products.key.factor;
  layer.first = {number(products.query.offset), number(products.key.offset), number(value.offset)};
  layer.step = {number(q->head_step), number(k->head_step), number(v->head_step)};
  if (const auto& places = value.tokens.places) layer.places = *places;
  std::vector<int> inputs = {products.query.tokens.picture, products.key.tokens.picture,
                             value.tokens.picture};
  if (products.bias >= 0) inputs.push_back(products.bias);
  std::vector<Shape> shapes;
  for (int input : inputs) shapes.push_back(graph_.shape_of(input));
  if (!layer.dims_after(shapes).ok()) return false;
  const int made = pictures_.add_layer(index, layer, inputs, "_attention",
                                       {1, layer.heads * layer.value_size, 1, q_picture.w()});
  see(index, {made, value.tokens.places, true}, *q, layer);
  return true;
}

// Makes the node's result a view of the attention's result.
void AttentionFinder::see(size_t index, const OrderedTokens& made, const Matrices& q,
                          const layers::AttentionAttributes& layer) {
  const int out = rewriter_.node(index).output;
  const Shape shape = graph_.shape_of(out);
  const int64_t channels = int64_t{layer.heads} * layer.value_size;
  View view = {made, 0, dims_of(shape), std::vector<int64_t>(shape.axes(), 0), 1};
  const size_t rank = view.dims.size();
  view.strides[rank - 1] = 1;
  view.strides[rank - 2] = channels;
  bool heads = layer.heads > 1;  // the next axis with several elements, from the end, has heads
  for (size_t i = rank - 2; i-- > 0;) {
    if (view.dims[i] == 1) continue;
    view.strides[i] = heads ? layer.value_size : q.rows * channels;
    heads = false;
  }
  views_[out] = view;
  // For nodes that read the result in another way.
  const Shape apart = {layer.heads, layer.value_size, layer.sequences, static_cast<int>(q.rows)};
  const int parts = pictures_.add_reshape(index, pictures_.gathered(index, made), apart, "_heads");
  const int ordered = pictures_.add_layer(index, layers::PermuteAttributes{{2, 0, 3, 1}}, {parts},
                                          "_by_head", {apart[2], apart[0], apart[3], apart[1]});
  rewriter_.change(index, [&](Node* node) {
    become(node, reshape_to(shape), {ordered});
    node->op = Op::kReshape;
  });
}

}  // namespace dvnn::plan
