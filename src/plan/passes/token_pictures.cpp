// SPDX-License-Identifier: Apache-2.0
#include "plan/passes/token_pictures.h"

#include <algorithm>
#include <numeric>

#include "base/nth.h"

namespace dvnn::plan {

using layers::ConstantAttributes;
using layers::ElementwiseAttributes;

Shape picture_of(const Shape& shape) {
  const auto channels = static_cast<int>(last_of(shape));
  return {1, channels, 1, static_cast<int>(shape.elements() / channels)};
}

layers::ReshapeAttributes reshape_to(const Shape& shape) {
  layers::ReshapeAttributes layer;
  layer.dims.assign(shape.dims, shape.dims + shape.rank);
  *std::max_element(layer.dims.begin() + (shape.rank == 4 && shape.n() == 1 ? 2 : 0),
                    layer.dims.end()) = -1;
  return layer;
}

bool is_sum(const Node& node) {
  if (node.op == Op::kAdd) return true;
  const auto* layer = node.layer<ElementwiseAttributes>();
  return layer && node.inputs.size() == 2 && layer->steps.size() == 1 && layer->steps[0].combines &&
         layer->steps[0].operation == kernels::Operation::kAdd &&
         layer->steps[0].x != layer->steps[0].y;
}

void become(Node* node, layers::LayerAttributes layer, std::vector<int> inputs) {
  Node other;
  other.op = Op::kCpu;
  other.name = node->name;
  other.layers = node->layers;
  other.output = node->output;
  other.inputs = std::move(inputs);
  other.set_layer(std::move(layer));
  *node = std::move(other);
}

const ConstantAttributes* TokenPictures::constant_of(int value) const {
  const int producer = rewriter_.producer(value);
  return producer < 0 ? nullptr : nth(graph_.nodes, producer).layer<ConstantAttributes>();
}

std::optional<int> TokenPictures::picture(int value) const {
  const auto it = tokens_.find(value);
  if (it == tokens_.end() || it->second.places) return std::nullopt;
  return it->second.picture;
}

std::optional<OrderedTokens> TokenPictures::ordered(int value) const {
  const auto it = tokens_.find(value);
  if (it == tokens_.end()) return std::nullopt;
  return it->second;
}

OrderedTokens TokenPictures::tokens_at(int picture, std::vector<int> places) const {
  const size_t pixels = graph_.shape_of(picture).extent(3);
  std::vector<bool> seen(pixels, false);
  bool in_order = places.size() == pixels, all = in_order;
  for (size_t i = 0; i < places.size(); ++i) {
    in_order = in_order && places[i] == static_cast<int>(i);
    all = all && places[i] != kNoToken && !seen[static_cast<size_t>(places[i])];
    if (all) seen[static_cast<size_t>(places[i])] = true;
  }
  if (in_order) return {picture, nullptr, true};
  return {picture, std::make_shared<const std::vector<int>>(std::move(places)), all};
}

void TokenPictures::set_places(int value, int picture, std::vector<int> places) {
  tokens_[value] = tokens_at(picture, std::move(places));
}

int TokenPictures::add(size_t index, Node node, const std::string& suffix, const Shape& shape) {
  const Node& reason = rewriter_.node(index);
  node.name = reason.name + suffix;
  node.layers = reason.layers;
  node.output = rewriter_.add_value(node.name, shape);
  const int value = node.output;
  rewriter_.insert_before(index, std::move(node));
  return value;
}

int TokenPictures::add_layer(size_t index, layers::LayerAttributes layer, std::vector<int> inputs,
                             const std::string& suffix, const Shape& shape) {
  Node node;
  node.op = Op::kCpu;
  node.inputs = std::move(inputs);
  node.set_layer(std::move(layer));
  return add(index, std::move(node), suffix, shape);
}

int TokenPictures::add_reshape(size_t index, int value, const Shape& shape,
                               const std::string& suffix) {
  if (graph_.shape_of(value) == shape) return value;
  // A reshape of a reshape reads the first value.
  const int before = rewriter_.producer(value);
  if (before >= 0 && nth(graph_.nodes, before).op == Op::kReshape) {
    value = nth(graph_.nodes, before).inputs[0];
    if (graph_.shape_of(value) == shape) return value;
  }
  Node node;
  node.op = Op::kReshape;
  node.inputs = {value};
  node.set_layer(reshape_to(shape));
  return add(index, std::move(node), suffix, shape);
}

int TokenPictures::gathered(size_t index, const OrderedTokens& tokens) {
  if (!tokens.places) return tokens.picture;
  const Shape from = graph_.shape_of(tokens.picture);
  const auto count = static_cast<int>(tokens.places->size());
  return add_layer(index, layers::PixelGatherAttributes{from.w(), *tokens.places}, {tokens.picture},
                   "_in_order", {1, from.c(), 1, count});
}

int TokenPictures::turned(size_t index, int value) {
  if (const auto known = ordered(value)) {
    if (known->places) set_picture(value, gathered(index, *known));
    return *picture(value);
  }
  const Shape whole = picture_of(graph_.shape_of(value));
  const int row = add_reshape(index, value, {1, 1, whole.w(), whole.c()}, "_tokens");
  const int made = add_layer(index, layers::PermuteAttributes{{0, 3, 1, 2}}, {row}, "_pixels",
                             {1, whole.c(), 1, whole.w()});
  set_picture(value, made);
  return made;
}

OrderedTokens TokenPictures::all_turned(size_t index, int value) {
  const auto known = ordered(value);
  if (known && known->are_all) return *known;
  return {turned(index, value), nullptr, true};
}

void TokenPictures::finish(size_t index, const OrderedTokens& tokens) {
  const int out = rewriter_.node(index).output;
  tokens_[out] = tokens;
  const int picture = gathered(index, tokens);
  const Shape shape = graph_.shape_of(out), whole = graph_.shape_of(picture);
  const Shape row = {1, 1, whole.w(), whole.c()};
  const layers::PermuteAttributes back{{0, 2, 3, 1}};
  if (shape == row) {
    rewriter_.change(index, [&](Node* node) { become(node, back, {picture}); });
    return;
  }
  const int made = add_layer(index, back, {picture}, "_tokens", row);
  rewriter_.change(index, [&](Node* node) {
    become(node, reshape_to(shape), {made});
    node->op = Op::kReshape;
  });
}

namespace {

using Sizes = std::vector<int64_t>;

// Returns a sequence's dimensions before its channels.
Sizes leads_of(const Shape& shape) {
  return Sizes(shape.dims, shape.dims + shape.rank - 1);
}

Sizes strides_of(const Sizes& sizes) {
  Sizes strides(sizes.size(), 1);
  for (size_t i = sizes.size(); i-- > 1;) strides[i - 1] = strides[i] * sizes[i];
  return strides;
}

// Calls visit(indices) for each index of an array of these sizes, the last one fastest.
template <typename Visit>
void for_each_index(const Sizes& sizes, Visit visit) {
  Sizes at(sizes.size(), 0);
  int64_t count = 1;
  for (int64_t size : sizes) count *= size;
  for (; count > 0; --count) {
    visit(at);
    for (size_t i = sizes.size(); i-- > 0 && ++at[i] == sizes[i];) at[i] = 0;
  }
}

}  // namespace

TokenOrders::TokenOrders(Rewriter* rewriter, Graph* graph, TokenPictures* pictures)
    : graph_(*graph),
      rewriter_(*rewriter),
      pictures_(*pictures),
      moves_on_(graph->values.size(), false) {
  for (const Node& node : graph_.nodes) {
    if (only_moves(node)) nth(moves_on_, node.inputs[0]) = true;
  }
}

bool TokenOrders::follow(const Node& node) {
  if (node.inputs.empty() || pictures_.ordered(node.output)) return false;
  const auto from = pictures_.ordered(node.inputs[0]);
  if (!from) return false;
  const Shape in = graph_.shape_of(node.inputs[0]), out = graph_.shape_of(node.output);
  const int64_t channels = graph_.shape_of(from->picture).c();
  if (!is_sequence(in) || !is_sequence(out) || last_of(in) != channels ||
      last_of(out) != channels || noted_ > kMostNoted) {
    return false;
  }
  auto places = moved(node, *from);
  if (!places) return false;
  noted_ += places->size();
  pictures_.set_places(node.output, from->picture, std::move(*places));
  return true;
}

void TokenOrders::follow_pixels(size_t index) {
  const int out = rewriter_.node(index).output;
  std::vector<int> chain;
  for (int at = rewriter_.producer(out); at >= 0 && only_moves(rewriter_.node(at));) {
    if (chain.size() == kMostMoves) return;
    chain.push_back(at);
    at = rewriter_.producer(rewriter_.node(at).inputs[0]);
  }
  const int first = rewriter_.node(chain.back()).inputs[0];
  const Shape from = graph_.shape_of(first), to = graph_.shape_of(out);
  if (from.rank != 4 || from.n() != 1 || from.c() != last_of(to)) return;
  const int pixels = from.h() * from.w();
  const auto view = MoveView::of(graph_, chain);
  MoveView::Factors factors = view ? view->factors() : MoveView::Factors();
  if (factors.empty() || factors.back().size != from.c() || factors.back().stride != pixels) return;
  factors.pop_back();
  noted_ += static_cast<size_t>(pixels);
  if (noted_ > kMostNoted) return;
  const int picture = pictures_.add_reshape(index, first, {1, from.c(), 1, pixels}, "_pixels");
  pictures_.set_places(out, picture, MoveView::places({factors.data(), factors.size()}));
}

bool TokenOrders::finish_pixels(size_t index) {
  const Node& node = rewriter_.node(index);
  const Shape to = graph_.shape_of(node.output);
  if (!only_moves(node) || nth(moves_on_, node.output) || to.rank != 4 || to.n() != 1) return false;
  std::vector<int> chain;
  std::optional<OrderedTokens> tokens;
  for (int at = static_cast<int>(index); !tokens;) {
    if (at < 0 || !only_moves(rewriter_.node(at)) || chain.size() == kMostMoves) return false;
    chain.push_back(at);
    const int value = rewriter_.node(at).inputs[0];
    tokens = pictures_.ordered(value);
    at = rewriter_.producer(value);
  }
  const auto view = MoveView::of(graph_, chain);
  MoveView::Factors factors = view ? view->factors() : MoveView::Factors();
  if (factors.empty() || factors[0].size != to.c() || factors[0].stride != 1 ||
      graph_.shape_of(tokens->picture).c() != to.c()) {
    return false;
  }
  for (MoveView::Factor& factor : factors) factor.stride /= to.c();
  Places places = MoveView::places({factors.data() + 1, factors.size() - 1});
  if (tokens->places) {
    for (int& place : places) place = nth(*tokens->places, place);
  }
  const int ordered =
      pictures_.gathered(index, pictures_.tokens_at(tokens->picture, std::move(places)));
  const int pixels = pictures_.add_reshape(index, ordered, to, "_of_tokens");
  rewriter_.change(index, [&](Node* other) {
    become(other, reshape_to(to), {pixels});
    other->op = Op::kReshape;
  });
  return true;
}

std::optional<TokenOrders::Places> TokenOrders::moved(const Node& node, const OrderedTokens& from) {
  const Shape in = graph_.shape_of(node.inputs[0]), out = graph_.shape_of(node.output);
  if (node.op == Op::kReshape) return places_of(from);
  if (node.op == Op::kConcat) return joined(node, node.layer<layers::ConcatAttributes>()->axis);
  if (const auto* permute = node.layer<layers::PermuteAttributes>()) {
    if (permute->order.back() != in.rank - 1) return std::nullopt;
    return permuted(places_of(from), in, permute->order);
  }
  if (const auto* slice = node.layer<layers::SliceAttributes>()) {
    return cut(places_of(from), in, out, *slice);
  }
  if (const auto* border = node.layer<layers::BorderAttributes>()) {
    return bordered(places_of(from), in, out, *border);
  }
  return std::nullopt;
}

TokenOrders::Places TokenOrders::places_of(const OrderedTokens& tokens) const {
  if (tokens.places) return *tokens.places;
  Places all(graph_.shape_of(tokens.picture).extent(3));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

TokenOrders::Places TokenOrders::permuted(const Places& from, const Shape& in,
                                          const std::vector<int>& order) {
  const Sizes before = leads_of(in), strides = strides_of(before);
  Sizes sizes, steps;
  for (size_t i = 0; i < before.size(); ++i) {
    sizes.push_back(nth(before, order[i]));
    steps.push_back(nth(strides, order[i]));
  }
  Places made;
  made.reserve(from.size());
  for_each_index(sizes, [&](const Sizes& at) {
    made.push_back(nth(from, std::inner_product(at.begin(), at.end(), steps.begin(), int64_t{0})));
  });
  return made;
}

std::optional<TokenOrders::Places> TokenOrders::cut(const Places& from, const Shape& in,
                                                    const Shape& out,
                                                    const layers::SliceAttributes& slice) {
  const Sizes strides = strides_of(leads_of(in)), sizes = leads_of(out);
  if (slice.begin.back() != 0 || slice.step.back() != 1) return std::nullopt;
  Places made;
  for_each_index(sizes, [&](const Sizes& at) {
    int64_t place = 0;
    for (size_t i = 0; i < at.size(); ++i) {
      place += (slice.begin[i] + slice.step[i] * at[i]) * strides[i];
    }
    made.push_back(nth(from, place));
  });
  return made;
}

std::optional<TokenOrders::Places> TokenOrders::bordered(const Places& from, const Shape& in,
                                                         const Shape& out,
                                                         const layers::BorderAttributes& border) {
  if (border.mode != layers::BorderMode::kConstant || border.value != 0 ||
      border.before.back() != 0 || border.after.back() != 0) {
    return std::nullopt;
  }
  const Sizes before = leads_of(in), strides = strides_of(before);
  Places made;
  for_each_index(leads_of(out), [&](const Sizes& at) {
    int64_t place = 0;
    for (size_t i = 0; i < at.size(); ++i) {
      const int64_t index = at[i] - border.before[i];
      if (index < 0 || index >= before[i]) place = -1;
      if (place >= 0) place += index * strides[i];
    }
    made.push_back(place < 0 ? kNoToken : nth(from, place));
  });
  return made;
}

// Returns the places of tokens of one picture that are joined along an axis.
std::optional<TokenOrders::Places> TokenOrders::joined(const Node& node, int axis) const {
  const Shape out = graph_.shape_of(node.output);
  if (axis == out.rank - 1) return std::nullopt;
  const int picture = pictures_.ordered(node.inputs[0])->picture;
  struct Part {
    Places places;
    size_t run;  // tokens from one index before the axis to the next
  };
  std::vector<Part> parts;
  size_t runs = 1;
  for (int i = 0; i < axis; ++i) runs *= out.extent(i);
  for (int value : node.inputs) {
    const auto part = pictures_.ordered(value);
    if (!part || part->picture != picture) return std::nullopt;
    Places places = places_of(*part);
    const size_t run = places.size() / runs;
    parts.push_back({std::move(places), run});
  }
  Places made;
  for (size_t i = 0; i < runs; ++i) {
    for (const Part& part : parts) {
      const auto first = part.places.begin() + static_cast<ptrdiff_t>(i * part.run);
      made.insert(made.end(), first, first + static_cast<ptrdiff_t>(part.run));
    }
  }
  return made;
}

}  // namespace dvnn::plan
