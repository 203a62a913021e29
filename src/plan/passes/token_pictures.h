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
/// The picture of a sequence.
Shape picture_of(const Shape& shape);
/// The reshape to that shape, whose largest dimension follows an input of another size.
layers::ReshapeAttributes reshape_to(const Shape& shape);
/// Returns whether a node is the sum of its two inputs.
bool is_sum(const Node& node);
/// The node becomes a CPU layer; its name and its result stay.
void become(Node* node, layers::LayerAttributes layer, std::vector<int> inputs);

/// Which sequences have pictures, and the nodes that make them.
class TokenPictures {
 public:
  explicit TokenPictures(Rewriter* rewriter) : graph_(rewriter->graph()), rewriter_(*rewriter) {}

  /// The numbers of a value that is known; null if it is computed.
  const layers::ConstantAttributes* constant_of(int value) const;
  /// The picture of a sequence, if it has one.
  std::optional<int> picture(int value) const;
  void set_picture(int value, int picture) { pictures_[value] = picture; }

  /// Adds a node before the one at `index`, after which it is named; returns the value that it
  /// makes.
  int add(size_t index, Node node, const std::string& suffix, const Shape& shape);
  int add_layer(size_t index, layers::LayerAttributes layer, std::vector<int> inputs,
                const std::string& suffix, const Shape& shape);
  /// The value in another shape; itself if it has that.
  int add_reshape(size_t index, int value, const Shape& shape, const std::string& suffix);
  /// The sequence's picture, which is made of it if it has none yet.
  int turned(size_t index, int value);
  /// What the node at `index` makes is `picture` from now on; the node itself turns it back.
  void finish(size_t index, int picture);

 private:
  Graph& graph_;
  Rewriter& rewriter_;
  std::unordered_map<int, int> pictures_;  // of sequences
};

}  // namespace dvnn::plan
