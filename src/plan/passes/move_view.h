// SPDX-License-Identifier: Apache-2.0
// What reshapes and permutations one after the other do to the elements of their first input.
// Private to passes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/span.h"
#include "plan/graph/graph.h"

namespace dvnn::plan {

/// Returns whether a node is a reshape or a permutation.
bool only_moves(const Node& node);

/// The longest chain of them that is looked at, so that a pass takes time in proportion to a graph.
/// Exporters write up to seven.
constexpr size_t kMostMoves = 16;

/// The elements of a value, in the order of a later one.
class MoveView {
 public:
  /// So many steps of `stride` elements; the last factor is the fastest.
  struct Factor {
    int size;
    int64_t stride;
  };
  using Factors = std::vector<Factor>;

  explicit MoveView(const Shape& shape);
  /// Follows nodes that each read the next one of `chain`, the last one first. Returns nothing
  /// where move() fails.
  static std::optional<MoveView> of(const Graph& graph, const std::vector<int>& chain);

  /// Follows a node that only_moves(), whose result has this shape. Returns false if a dimension
  /// has a part of another that does not divide it: then no permutation of factors is the same.
  bool move(const Node& node, const Shape& shape);
  /// Returns the least factors that order the elements so.
  Factors factors() const;
  /// Returns where the elements of these factors lie, counted in elements.
  static std::vector<int> places(Span<const Factor> factors);

 private:
  bool reshape(const Shape& shape);

  std::vector<Factors> dims_;
};

}  // namespace dvnn::plan
