// SPDX-License-Identifier: Apache-2.0
// Follows whole tokens that are moved: into windows and back (Swin), with shifts, zeros around
// them, and cuts. Private to turn_tokens().
#pragma once

#include <optional>
#include <vector>

#include "plan/passes/token_pictures.h"

namespace dvnn::plan {

class TokenOrders {
 public:
  TokenOrders(const Rewriter* rewriter, Graph* graph, TokenPictures* pictures)
      : graph_(*graph), rewriter_(*rewriter), pictures_(*pictures) {}

  /// Notes where the tokens of a node's result lie. Returns false if the node does not only move
  /// tokens.
  bool follow(const Node& node);

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
  const Rewriter& rewriter_;
  TokenPictures& pictures_;
  size_t noted_ = 0;
};

}  // namespace dvnn::plan
