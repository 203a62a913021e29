// SPDX-License-Identifier: Apache-2.0
// Finds softmax(q k' + bias) v among the nodes of a graph, even if its operands were sliced, split
// by heads and permuted, and replaces it by one layer. Private to turn_tokens().
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
  /// Follows operations on products before they are multiplied by values.
  void follow_products(size_t index);

 private:
  // A strided view of a sequence's row-major elements, multiplied by `factor`: the offset of the
  // first element, and for each axis its size and its stride in elements.
  struct View {
    OrderedTokens tokens;  // the sequence's, all of a picture
    int64_t offset = 0;
    std::vector<int64_t> dims, strides;
    float factor = 1;
  };
  // Products of queries and keys, with the operations applied to them.
  struct Products {
    View query, key;
    float factor = 1;
    int bias = -1;         // value; -1: none
    bool weights = false;  // whether the softmax was applied
  };
  // Sizes and steps of one head's matrix, (rows, columns), and of the heads and sequences before
  // it.
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
  void see(size_t index, const OrderedTokens& made, const Matrices& q,
           const layers::AttentionAttributes& layer);

  Graph& graph_;
  Rewriter& rewriter_;
  TokenPictures& pictures_;
  std::unordered_map<int, View> views_;         // by value that is part of a sequence
  std::unordered_map<int, Products> products_;  // by value
};

/// Returns factor and sum of a node that applies the same ones to all elements.
std::optional<std::pair<float, float>> line_of(const Node& node);

}  // namespace dvnn::plan
