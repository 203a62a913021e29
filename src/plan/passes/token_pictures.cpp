// SPDX-License-Identifier: Apache-2.0
#include "plan/passes/token_pictures.h"

#include <algorithm>

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

}  // namespace dvnn::plan
