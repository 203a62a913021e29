// SPDX-License-Identifier: Apache-2.0
// Finds softmax(q k' + bias) v among the nodes of a graph, whose parts may have been sliced, split
// by heads and turned on the way, and makes one layer of it. Private to turn_tokens().
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "plan/passes/token_pictures.h"

namespace dvnn::plan {

class AttentionFinder {
 public:
  AttentionFinder(Rewriter* rewriter, TokenPictures* pictures)
      : graph_(rewriter->graph()), rewriter_(*rewriter), pictures_(*pictures) {}

  /// Follows a node that moves a sequence's elements.
  void view(size_t index);
  /// Follows a product of two computed matrices. Returns whether it is part of an attention.
  bool follow_product(size_t index);
  /// Follows what is done to products before they meet values.
  void follow_products(size_t index);

 private:
  // A value whose elements lie in a sequence's row-major ones: where the first is, and elements
  // from one index of each axis to the next. `factor` of them.
  struct View {
    int picture = -1;  // of the sequence
    int64_t offset = 0;
    std::vector<int64_t> dims, strides;
    float factor = 1;
  };
  // Products of queries and keys, with what has been done to them.
  struct Products {
    View query, key;
    float factor = 1;
    int bias = -1;         // value; -1: none
    bool weights = false;  // after the softmax
  };
  // Axes of one head's matrix, (rows, columns), and of sequences and heads before it.
  struct Matrices {
    int64_t sequences = 1, heads = 1, rows = 1, columns = 1;
    int64_t head_step = 0, sequence_step = 0, row_step = 0, column_step = 0;
  };

  std::optional<View> view_of(int value) const;
  bool moved(const Node& node, View* view) const;
  static bool split_axes(const std::vector<int64_t>& dims, View* view);
  std::optional<float> factor_of(const Node& node) const;
  int with_rank_4(size_t index, int value);
  int sum_of(size_t index, int a, int b);
  static std::optional<Matrices> matrices_of(const View& view, int64_t channels);
  static bool has_tokens(const Matrices& m, int64_t tokens, int64_t token_step, int64_t number_step,
                         const Shape& picture, int64_t offset);
  bool finish_attention(size_t index, const Products& products, const View& value);
  void see(size_t index, int made, const Matrices& q, const layers::AttentionAttributes& layer);

  Graph& graph_;
  Rewriter& rewriter_;
  TokenPictures& pictures_;
  std::unordered_map<int, View> views_;         // of what lies in sequences
  std::unordered_map<int, Products> products_;  // by the value that they are
};

/// Factor and sum of a node that does one and the same to all elements.
std::optional<std::pair<float, float>> line_of(const Node& node);

}  // namespace dvnn::plan
