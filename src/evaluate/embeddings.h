// SPDX-License-Identifier: Apache-2.0
// How well embeddings tell identities apart, by the cosine of two embeddings.
//
// Re-identification (L. Zheng et al., "Scalable Person Re-identification: A Benchmark", ICCV 2015):
// each picture of an identity that has several is a query among all other pictures. Rank n is the
// share of queries with a picture of the same identity among the n most similar ones; the average
// precision of a query is the mean, over the pictures of its identity, of the share of these among
// all that are at least as similar. Of equally similar pictures the wrong ones come first.
//
// Verification (P. Phillips et al., "The FERET Evaluation Methodology for Face-Recognition
// Algorithms", PAMI 22, 2000): of all pairs of pictures, the share of those of one identity that
// are accepted at a threshold at which at most a given share of the others are.
#pragma once

#include <cstdint>
#include <vector>

namespace dvnn::evaluate {

/// Most pictures; all pairs of them are compared.
constexpr size_t kMostEmbeddings = 10000;

struct AcceptRate {
  double false_accepts = 0;  // wanted share, at most
  double threshold = 0;      // least cosine that is accepted
  double true_accepts = -1;
};

/// The place of the first right picture of a query, and its average precision.
struct QueryResult {
  uint64_t picture = 0, place = 0;
  double precision = 0;
};

struct EmbeddingFigures {
  std::vector<QueryResult> queries;
  uint64_t same_pairs = 0, other_pairs = 0;
  std::vector<AcceptRate> rates;  // only those that the number of pairs can show

  /// Returns the share of queries with a right picture among the `most` most similar; -1: none.
  double rank(uint64_t most) const;
  double mean_precision() const;
};

/// Computes figures of at most kMostEmbeddings pictures. `embeddings` have one length and are
/// finite and not all 0; `identities` has a number for each.
EmbeddingFigures compare_embeddings(const std::vector<std::vector<float>>& embeddings,
                                    const std::vector<int>& identities);

}  // namespace dvnn::evaluate
