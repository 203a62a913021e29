// SPDX-License-Identifier: Apache-2.0
// Sequences of tokens, (..., tokens, channels), as pictures of one row of pixels, (1, channels, 1,
// tokens), while passes rewrite them; and where whole tokens are that are moved: into windows and
// back (Swin), with shifts, zeros around them, and cuts. Private to turn_tokens().
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "plan/passes/move_view.h"
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

/// Instead of the place of a token that is zeros.
constexpr int kNoToken = -1;

/// The tokens of a sequence as pixels of a picture.
struct OrderedTokens {
  int picture = -1;
  std::shared_ptr<const std::vector<int>> places = nullptr;  // of each token; null: in order
  bool are_all = true;                                       // whether each pixel is one token

  bool lie_as(const OrderedTokens& other) const {
    return places == other.places || (places && other.places && *places == *other.places);
  }
};

/// Tracks which sequences have pictures, and adds the nodes that make them.
class TokenPictures {
 public:
  explicit TokenPictures(Rewriter* rewriter) : graph_(rewriter->graph()), rewriter_(*rewriter) {}

  /// Returns the numbers of a known value; null if it is computed.
  const layers::ConstantAttributes* constant_of(int value) const;
  /// Returns the picture of a sequence in its order, if it has one.
  std::optional<int> picture(int value) const;
  /// Returns the tokens of a sequence that has a picture in any order.
  std::optional<OrderedTokens> ordered(int value) const;
  void set_picture(int value, int picture) { tokens_[value] = {picture, nullptr, true}; }
  void set_tokens(int value, OrderedTokens tokens) { tokens_[value] = std::move(tokens); }
  /// Returns the tokens that lie at these pixels of a picture, or are zeros.
  OrderedTokens tokens_at(int picture, std::vector<int> places) const;
  /// Says that a sequence is these tokens.
  void set_places(int value, int picture, std::vector<int> places);

  /// Adds a node before the one at `index`, and names it after that one. Returns the new node's
  /// result.
  int add(size_t index, Node node, const std::string& suffix, const Shape& shape);
  int add_layer(size_t index, layers::LayerAttributes layer, std::vector<int> inputs,
                const std::string& suffix, const Shape& shape);
  /// Returns the value in another shape; the value itself if it has that shape.
  int add_reshape(size_t index, int value, const Shape& shape, const std::string& suffix);
  /// Returns the sequence's picture, which is added if it has none yet.
  int turned(size_t index, int value);
  /// Returns tokens that are all pixels of a picture; it is added if the value has none such.
  OrderedTokens all_turned(size_t index, int value);
  /// Adds the tokens in their order.
  int gathered(size_t index, const OrderedTokens& tokens);
  /// Makes `tokens` those of the node's result; the node itself now turns them back into that.
  void finish(size_t index, const OrderedTokens& tokens);

 private:
  Graph& graph_;
  Rewriter& rewriter_;
  std::unordered_map<int, OrderedTokens> tokens_;  // by sequence
};

/// Follows whole tokens that are moved.
class TokenOrders {
 public:
  TokenOrders(Rewriter* rewriter, Graph* graph, TokenPictures* pictures);

  /// Notes where the tokens of a node's result lie. Returns false if the node does not only move
  /// tokens.
  bool follow(const Node& node);
  /// Notes where the tokens of a permutation's result lie, if reshapes and permutations made them
  /// of all pixels of a picture, as of MobileViT, whose sequences are pixels of one place in each
  /// patch.
  void follow_pixels(size_t index);
  /// The way back: makes a node that ends such a chain read the tokens' picture at once. Returns
  /// false if its result is no picture whose pixels are the tokens.
  bool finish_pixels(size_t index);

 private:
  using Places = std::vector<int>;

  std::optional<Places> moved(const Node& node, const OrderedTokens& from);
  static Places permuted(const Places& from, const Shape& in, const std::vector<int>& order);
  static std::optional<Places> cut(const Places& from, const Shape& in, const Shape& out,
                                   const layers::SliceAttributes& slice);
  static std::optional<Places> bordered(const Places& from, const Shape& in, const Shape& out,
                                        const layers::BorderAttributes& border);
  std::optional<Places> joined(const Node& node, int axis) const;
  Places places_of(const OrderedTokens& tokens) const;

  static constexpr size_t kMostNoted = 1 << 24;  // places, together

  Graph& graph_;
  Rewriter& rewriter_;
  TokenPictures& pictures_;
  std::vector<bool> moves_on_;  // by value: whether a reshape or permutation reads it
  size_t noted_ = 0;
};

}  // namespace dvnn::plan
