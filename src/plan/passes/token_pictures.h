// SPDX-License-Identifier: Apache-2.0
// Sequences of tokens, (..., tokens, channels), as pictures of one row of pixels, (1, channels, 1,
// tokens), while passes rewrite them. Private to turn_tokens().
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "plan/passes/rewriter.h"

namespace dvnn::plan {

inline int64_t last_of(const Shape& shape) {
  return shape[shape.rank - 1];
}
inline bool is_sequence(const Shape& shape) {
  return shape.rank >= 2 && shape.elements() > 0;
}
/// Returns the shape of a sequence's picture.
Shape picture_of(const Shape& shape);
/// Returns the reshape to that shape; its largest dimension adapts to inputs of another size.
layers::ReshapeAttributes reshape_to(const Shape& shape);
/// Returns whether a node is the sum of its two inputs.
bool is_sum(const Node& node);
/// Turns the node into a CPU layer; its name and its result stay.
void become(Node* node, layers::LayerAttributes layer, std::vector<int> inputs);

/// Tracks which sequences have pictures, and adds the nodes that make them.
class TokenPictures {
 public:
  explicit TokenPictures(Rewriter* rewriter) : graph_(rewriter->graph()), rewriter_(*rewriter) {}

  /// Returns the numbers of a known value; null if it is computed.
  const layers::ConstantAttributes* constant_of(int value) const;
  /// Returns the picture of a sequence, if it has one.
  std::optional<int> picture(int value) const;
  void set_picture(int value, int picture) { pictures_[value] = picture; }

  /// Adds a node before the one at `index`, and names it after that one. Returns the new node's
  /// result.
  int add(size_t index, Node node, const std::string& suffix, const Shape& shape);
  int add_layer(size_t index, layers::LayerAttributes layer, std::vector<int> inputs,
                const std::string& suffix, const Shape& shape);
  /// Returns the value in another shape; the value itself if it has that shape.
  int add_reshape(size_t index, int value, const Shape& shape, const std::string& suffix);
  /// Returns the sequence's picture, which is added if it has none yet.
  int turned(size_t index, int value);
  /// Makes `picture` the picture of the node's result; the node itself now turns it back into that.
  void finish(size_t index, int picture);

 private:
  Graph& graph_;
  Rewriter& rewriter_;
  std::unordered_map<int, int> pictures_;  // by sequence
};

}  // namespace dvnn::plan
